"""Windows over an image that does not fit a network at once."""

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from .checks import one_of
from .errors import UserError

#: Size and stride of windows, height and width each.
Window = tuple[tuple[int, int], tuple[int, int]]
#: Pixels of an image that networks see at once, unless told otherwise.
WHOLE = 2**22
#: Windows for larger images: memory is bounded, whatever their size.
LARGE: Window = (1024, 1024), (682, 682)


def window_of(cfg: Mapping, path: str) -> Window | None:
    """The windows that a ``test_cfg`` asks for; None for whole images.

    Args:
        cfg: The ``test_cfg``.
        path: Where it stands, for errors.

    Raises:
        UserError: A value that cannot work.
    """
    mode = cfg.get('mode', 'whole')
    one_of(('whole', 'slide'), **{f'{path}.mode': mode})
    if mode == 'whole':
        return None
    names = f'{path}.crop_size', f'{path}.stride'
    return _checked(names, cfg.get('crop_size'), cfg.get('stride'))


def windows(window: Any, stride: Any = None) -> Window | None:
    """Size and stride of windows, if any are asked for.

    Args:
        window: Height and width, or one number for both; None for none.
        stride: Likewise; None for two thirds of the window.

    Raises:
        UserError: A value that cannot work.
    """
    if window is None:
        if stride is not None:
            raise UserError(f'stride={stride} without window: give both.')
        return None
    names = 'window', 'stride'
    size, _ = _checked(names, window, window)
    thirds = max(1, size[0] * 2 // 3), max(1, size[1] * 2 // 3)
    return _checked(names, size, thirds if stride is None else stride)


def _checked(names: tuple[str, str], window: Any, stride: Any) -> Window:
    """Size and stride as pairs, or a UserError that names the wrong one."""
    size, step = sides(names[0], window), sides(names[1], stride)
    if step[0] > size[0] or step[1] > size[1]:
        raise UserError(
            f'{names[1]}={step} leaves gaps between windows of '
            f'{names[0]}={size}: make it smaller.'
        )
    return size, step


def sides(name: str, value: Any) -> tuple[int, int]:
    """Height and width; a UserError names a value that is neither."""
    pair = (value, value) if isinstance(value, int) else value
    try:
        height, width = map(operator.index, pair)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise UserError(f'{name}={value!r}: expected (height, width).')
    return height, width


def window_for(image: Tensor) -> Window | None:
    """Windows in which to see images (B, C, H, W) that are too large."""
    return LARGE if image.shape[-2] * image.shape[-1] > WHOLE else None


def iter_windows(
    size: tuple[int, int], crop: tuple[int, int], stride: tuple[int, int]
) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the windows that cover an image."""
    starts = []
    for length, side, step in zip(size, crop, stride, strict=True):
        last = max(length - side, 0)  # this one ends at the border
        starts.append([*range(0, last, step), last])
    for top, left in itertools.product(*starts):
        yield slice(top, top + crop[0]), slice(left, left + crop[1])


def stitch(
    predict: Callable[[Tensor, Tensor | None], Tensor],
    image: Tensor,
    prior: Tensor | None,
    window: Window | None,
) -> Tensor:
    """Mean of what a network says of overlapping windows.

    Probabilities of pixels may be averaged; samples may not, since two
    windows would each draw a world of their own. Draw from what this
    returns, once for the whole image.

    Args:
        predict: Maps windows of image and prior to maps (B, K, h, w).
        image: (B, C, H, W).
        prior: Maps of the same size that the network sees, too, or None.
        window: Size and stride of windows; None: all at once.

    Returns:
        Maps (B, K, H, W).
    """
    if window is None:
        return predict(image, prior)
    size = (image.shape[-2], image.shape[-1])
    total, count = None, image.new_zeros(size)
    for tile in iter_windows(size, *window):
        part = (..., *tile)
        maps = predict(image[part], None if prior is None else prior[part])
        if total is None:
            total = maps.new_zeros(*maps.shape[:2], *size)
        total[part] += maps
        count[tile] += 1
    assert isinstance(total, torch.Tensor)  # every image has a window
    return total / count
