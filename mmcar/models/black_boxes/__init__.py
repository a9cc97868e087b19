"""Black boxes B: where the predictions that F refines come from."""

from .base import BaseBlackBox, CachedBlackBox, check_black_boxes
from .live import BlackBox

__all__ = ['BaseBlackBox', 'BlackBox', 'CachedBlackBox', 'check_black_boxes']
