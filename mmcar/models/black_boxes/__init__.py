"""Black boxes B: where the predictions that F refines come from."""

from .cached import CachedBlackBox
from .live import BlackBox

__all__ = ['BlackBox', 'CachedBlackBox']
