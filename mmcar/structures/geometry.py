"""Between an image as it lies on disk and the network's padded input."""

from collections.abc import Mapping

import torch.nn.functional as F
from torch import Tensor

MIRRORED_AXES = dict(horizontal=(-1,), vertical=(-2,), diagonal=(-2, -1))


def padding_of(meta: Mapping) -> tuple[int, int, int, int]:
    """Left, right, top, bottom; MMSeg names it apart in train and test."""
    padding = meta.get('img_padding_size', meta.get('padding_size'))
    left, right, top, bottom = (int(side) for side in padding or (0,) * 4)
    return left, right, top, bottom


def without_padding(maps: Tensor, meta: Mapping) -> Tensor:
    """Cut off what the data preprocessor added.

    Args:
        maps: (..., H, W), at the size of the network's input.
        meta: Metainfo of the image.

    Returns:
        (..., h, w), at the size of the image in the pipeline.
    """
    left, right, top, bottom = padding_of(meta)
    height, width = maps.shape[-2:]
    return maps[..., top : height - bottom, left : width - right]


def original_size(maps: Tensor, meta: Mapping) -> tuple[int, int]:
    """Height and width of an image on disk; unknown: that of its input."""
    size = meta.get('ori_shape') or without_padding(maps, meta).shape[-2:]
    return int(size[0]), int(size[1])


def is_resized(maps: Tensor, meta: Mapping) -> bool:
    """Whether the input (..., H, W) has another size than the image."""
    inner = without_padding(maps, meta).shape[-2:]
    return original_size(maps, meta) != tuple(inner)


def to_original(probs: Tensor, meta: Mapping, align_corners: bool) -> Tensor:
    """Undo padding, mirroring and resize of an image's prediction.

    Args:
        probs: Maps (N, K, H, W) at the size of the network's input; of any
            shape (..., H, W) where the pipeline did not resize.
        meta: Metainfo of the image, which says what was done to it.
        align_corners: How to interpolate.

    Returns:
        Maps (..., h, w) at the image's original size.
    """
    size = original_size(probs, meta)
    probs = without_padding(probs, meta)
    if meta.get('flip'):
        probs = probs.flip(MIRRORED_AXES[meta['flip_direction']])
    if size == tuple(probs.shape[-2:]):
        return probs
    return F.interpolate(
        probs, size, mode='bilinear', align_corners=align_corners
    )


def to_input(
    maps: Tensor,
    meta: Mapping,
    size: tuple[int, int],
    fill: float,
    mode: str = 'nearest-exact',
) -> Tensor:
    """Bring maps of an image to the size of the network's input.

    Args:
        maps: (N, h, w) of the original image or of the input.
        meta: Metainfo of the image.
        size: Height and width of the input, H and W.
        fill: Value of pixels that the data preprocessor added.
        mode: How to interpolate; the default does not blend.

    Returns:
        (N, H, W).
    """
    if tuple(maps.shape[-2:]) == tuple(size):
        return maps
    left, right, top, bottom = padding_of(meta)
    inner = (size[0] - top - bottom, size[1] - left - right)
    if tuple(maps.shape[-2:]) != inner:
        maps = F.interpolate(maps[None], inner, mode=mode)[0]
    return F.pad(maps, (left, right, top, bottom), value=fill)
