"""Hooks of training."""

from .budget_hook import ProcessorBudgetHook
from .checkpoint_hook import SafeCheckpointHook
from .ema_hook import NetworkEMAHook
from .phase_timer_hook import PhaseTimerHook
from .processor_time_hook import ProcessorTimeHook
from .progress_hook import ProgressHook
from .r1_hook import R1Hook, r1_penalty

__all__ = [
    'NetworkEMAHook',
    'PhaseTimerHook',
    'ProcessorBudgetHook',
    'ProcessorTimeHook',
    'ProgressHook',
    'R1Hook',
    'SafeCheckpointHook',
    'r1_penalty',
]
