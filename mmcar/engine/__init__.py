"""Training: phases, optimisers, distribution, hooks, checkpoints."""

from .checkpoints import find_resumable_checkpoint
from .distributed import NetworkwiseDistributedDataParallel, unwrap_model
from .hooks import (
    NetworkEMAHook,
    PhaseTimerHook,
    ProgressHook,
    R1Hook,
    SafeCheckpointHook,
    r1_penalty,
)
from .loops import AlternatingTrainLoop, Schedule
from .optimizers import NetworkOptimWrapperConstructor
from .resumable_data import ResumableSampler, SeededDataset

__all__ = [
    'AlternatingTrainLoop',
    'NetworkEMAHook',
    'NetworkOptimWrapperConstructor',
    'NetworkwiseDistributedDataParallel',
    'PhaseTimerHook',
    'ProgressHook',
    'R1Hook',
    'ResumableSampler',
    'SafeCheckpointHook',
    'Schedule',
    'SeededDataset',
    'find_resumable_checkpoint',
    'r1_penalty',
    'unwrap_model',
]
