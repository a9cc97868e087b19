"""Flips, quarter turns and scales in which a model may see an image."""

from collections.abc import Sequence
from typing import NamedTuple

from mmseg.models.utils import resize
from torch import Tensor

# Quarter turns, and whether views are mirrored, too.
SYMMETRIES = {
    'none': ((0,), (False,)),
    'horizontal': ((0,), (False, True)),
    'flips': ((0, 2), (False, True)),
    'square': ((0, 1, 2, 3), (False, True)),
}


class View(NamedTuple):
    """How an image is looked at.

    Attributes:
        turns: Quarter turns, before the flip.
        flip: Whether left and right are exchanged.
        scale: Factor of its size.
    """

    turns: int = 0
    flip: bool = False
    scale: float = 1.0

    def look(self, image: Tensor) -> Tensor:
        """The view of images (B, C, H, W)."""
        turned = turn(image, self.turns)
        seen = turned.flip(-1) if self.flip else turned
        if self.scale == 1:
            return seen
        size = [max(round(side * self.scale), 1) for side in seen.shape[-2:]]
        return _resize(seen, size)

    def back(self, maps: Tensor, size: tuple[int, int]) -> Tensor:
        """Undo the view of maps (..., h, w) for images of a size (H, W)."""
        if self.scale != 1:
            maps = _resize(maps, list(size[:: -1 if self.turns % 2 else 1]))
        maps = maps.flip(-1) if self.flip else maps
        return turn(maps, -self.turns)


def _resize(maps: Tensor, size: list[int]) -> Tensor:
    """Maps (..., h, w) at another size; labels by the nearest pixel."""
    flat = maps.reshape(-1, 1, *maps.shape[-2:])
    if maps.is_floating_point():
        flat = resize(flat, size=size, mode='bilinear', align_corners=False)
    else:
        flat = resize(flat.float(), size=size, mode='nearest-exact')
    return flat.to(maps.dtype).reshape(*maps.shape[:-2], *size)


def turn(maps: Tensor, quarters: int) -> Tensor:
    """What ``rot90`` does to (..., H, W), by operators that ONNX has."""
    half = maps.flip((-2, -1)) if quarters % 4 >= 2 else maps
    return half.flip((-1,)).transpose(-2, -1) if quarters % 2 else half


def views_of(
    symmetries: str, size: tuple[int, int], scales: Sequence[float] = (1.0,)
) -> list[View]:
    """All views of images of a height and width.

    Args:
        symmetries: One of `SYMMETRIES`; an image that is not square keeps
            its sides.
        size: Height and width.
        scales: Factors of the size, each with every symmetry.
    """
    turns, flips = SYMMETRIES[symmetries]
    return [
        View(turn, flip, scale)
        for scale in scales
        for turn in turns
        for flip in flips
        if size[0] == size[1] or turn % 2 == 0
    ]
