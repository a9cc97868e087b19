"""Hooks of training."""

from .budget_hook import ProcessorBudgetHook
from .checkpoint_hook import SafeCheckpointHook
from .ema_hook import NetworkEMAHook
from .r1_hook import R1Hook, r1_penalty

__all__ = [
    'NetworkEMAHook',
    'ProcessorBudgetHook',
    'R1Hook',
    'SafeCheckpointHook',
    'r1_penalty',
]
