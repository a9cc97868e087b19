"""Training: phases, optimisers, distribution, hooks, checkpoints."""

from . import optimizers, resumable_data
from .alternating_loop import AlternatingTrainLoop
from .checkpoints import find_resumable_checkpoint
from .distributed import unwrap_model
from .network_hooks import NetworkEMAHook, R1Hook, r1_penalty
from .progress import PhaseTimerHook, ProgressHook
from .schedule import Schedule
