"""Black boxes B: where the predictions that F refines come from."""

from .base import BaseBlackBox
from .cached import CachedBlackBox
from .live import BlackBox

__all__ = ['BaseBlackBox', 'BlackBox', 'CachedBlackBox']
