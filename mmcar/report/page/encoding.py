"""Pictures and maps as short text, for a page to unpack in the browser.

Maps are zlib-compressed bytes in Base64, which browsers unpack by themselves
(``DecompressionStream``). A canvas would read PNG files too, but some
browsers blur what is read from a canvas, and class ids must be exact.
"""

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np

JPEG_QUALITY = 88


def pack_bytes(array: np.ndarray) -> str:
    """Compress an array; 16-bit values are little-endian."""
    array = np.ascontiguousarray(array)
    if array.dtype.itemsize > 1:
        array = array.astype(array.dtype.newbyteorder('<'))
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def pack_maps(base: np.ndarray, maps: np.ndarray) -> str:
    """Compress label maps as what sets them apart from one of them.

    Args:
        base: The map (H, W) that the others resemble, unsigned.
        maps: Maps (N, H, W) of the same type.

    Returns:
        ``base``, then the maps minus it, modulo the range of the type: most
        values are 0, so that little room is taken.
    """
    return pack_bytes(np.concatenate([base[None], maps - base]))


def pack_picture(picture: np.ndarray) -> str:
    """An RGB picture (H, W, 3) uint8 as a data URL."""
    bgr = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(
        '.jpg', bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )
    return f'data:image/jpeg;base64,{base64.b64encode(data).decode()}'


def percents(probs: np.ndarray) -> np.ndarray:
    """Whole percents, rounded down: at least t exactly if p >= t / 100.

    A rounding error of float32 below a whole percent does not count.
    """
    return np.floor(100 * probs + 1e-4).clip(0, 100).astype(np.uint8)


def shown_size(size: Sequence[int], max_side: int) -> tuple[int, int]:
    """Height and width, made smaller where a side is longer than allowed."""
    factor = min(1.0, max_side / max(size))
    return (
        max(1, round(factor * size[0])),
        max(1, round(factor * size[1])),
    )


def pick_pixels(maps: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Resize maps (..., H, W) without blending: every value was there."""
    picked = [
        ((np.arange(new) + 0.5) * old / new).astype(int)
        for new, old in zip(size, maps.shape[-2:], strict=True)
    ]
    return maps[..., picked[0][:, None], picked[1]]


def plain(value: Any) -> Any:
    """What JSON can say: NaN and infinities become None, tuples lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def file_size(number: int) -> str:
    """A number of bytes as people read it."""
    if number < 1_000_000:
        return f'{number / 1e3:.0f} kB'
    return f'{number / 1e6:.1f} MB'
