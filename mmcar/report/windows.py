"""Pictures in windows, where there is a screen."""

import os
import sys

import numpy as np
from mmengine.visualization import Visualizer

from ..utils.errors import UserError

SCREENS = ('DISPLAY', 'WAYLAND_DISPLAY')


def need_screen(instead: str) -> None:
    """Refuse to show pictures where nobody could see them.

    Args:
        instead: What to do there.
    """
    if sys.platform == 'linux' and not any(map(os.environ.get, SCREENS)):
        raise UserError(f'there is no display to show images on; {instead}')


def show_picture(picture: np.ndarray, title: str, seconds: float) -> None:
    """Show RGB (H, W, 3) uint8 for some time, or until the space key."""
    Visualizer().show(picture, title, wait_time=seconds)
