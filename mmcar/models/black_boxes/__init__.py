"""Black boxes B: where the predictions that F refines come from."""

from .base import BaseBlackBox, CachedBlackBox, check_black_boxes
from .frozen import FrozenBlackBox
from .live import BlackBox
from .wrapped import OnnxBlackBox, TorchBlackBox
