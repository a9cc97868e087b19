"""Hooks of training."""

from .checkpoint_hook import SafeCheckpointHook
from .ema_hook import NetworkEMAHook
from .r1_hook import R1Hook, r1_penalty

__all__ = [
    'NetworkEMAHook',
    'R1Hook',
    'SafeCheckpointHook',
    'r1_penalty',
]
