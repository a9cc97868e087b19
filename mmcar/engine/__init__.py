"""Training: phases, optimisers, distribution, hooks, checkpoints."""

from . import optimizers, resumable_data
from .checkpoints import find_resumable_checkpoint
from .distributed import unwrap_model
from .hooks import NetworkEMAHook, PhaseTimerHook, R1Hook, r1_penalty
from .loops import AlternatingTrainLoop, Schedule

__all__ = [
    'AlternatingTrainLoop',
    'NetworkEMAHook',
    'PhaseTimerHook',
    'R1Hook',
    'Schedule',
    'find_resumable_checkpoint',
    'optimizers',
    'r1_penalty',
    'resumable_data',
    'unwrap_model',
]
