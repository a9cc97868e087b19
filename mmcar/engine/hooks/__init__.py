"""Hooks of training."""

from .checkpoint_hook import SafeCheckpointHook
from .ema_hook import NetworkEMAHook
from .phase_timer_hook import PhaseTimerHook
from .progress_hook import ProgressHook
from .r1_hook import R1Hook, r1_penalty

__all__ = [
    'NetworkEMAHook',
    'PhaseTimerHook',
    'ProgressHook',
    'R1Hook',
    'SafeCheckpointHook',
    'r1_penalty',
]
