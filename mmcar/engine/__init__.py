"""Training: phases, optimisers, distribution, hooks, checkpoints."""

from .alternating_loop import AlternatingTrainLoop
from .checkpoint_hook import SafeCheckpointHook, find_resumable_checkpoint
from .compiling import compile_networks
from .distributed import NetworkwiseDistributedDataParallel, unwrap_model
from .ema_hook import NetworkEMAHook
from .guards import NonFiniteLossError, check_finite
from .optim_constructor import NetworkOptimWrapperConstructor
from .r1_hook import R1Hook, r1_penalty
from .resumable_data import ResumableSampler, SeededDataset
from .schedule import Schedule

__all__ = [
    'AlternatingTrainLoop',
    'NetworkEMAHook',
    'NetworkOptimWrapperConstructor',
    'NetworkwiseDistributedDataParallel',
    'NonFiniteLossError',
    'R1Hook',
    'ResumableSampler',
    'SafeCheckpointHook',
    'Schedule',
    'SeededDataset',
    'check_finite',
    'compile_networks',
    'find_resumable_checkpoint',
    'r1_penalty',
    'unwrap_model',
]
