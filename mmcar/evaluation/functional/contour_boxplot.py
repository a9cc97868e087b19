"""Contour boxplot: what is typical among many outlines, and what is not.

The depth of an outline says how often it lies between two others (set band
depth, after Whitaker, Mirzargar and Kirby 2013). The deepest is the median.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ...utils.errors import UserError

#: Tukey's factor: how far below the lower quartile an outlier lies.
WHISKER = 1.5
#: Depths that differ by less are equal; rounding must find no outliers.
EVEN = 1e-9
#: Pixels that are numbers at once: memory is bounded, float32 counts them.
PART = 1 << 22


class ContourBoxplot(NamedTuple):
    """Outlines of an object, summarised as regions.

    Attributes:
        depths: Band depth of each mask (S,) float64, in [0, 1].
        median: Index of the deepest mask.
        outliers: Indices of outliers.
        inner_core: Pixels in all of the deepest half, (H, W) bool; the 50 %
            band is what `inner_union` has beyond it.
        inner_union: Pixels in any of the deepest half, (H, W) bool.
        outer_core: Pixels in all masks but outliers, (H, W) bool.
        outer_union: Pixels in any mask but outliers, (H, W) bool: the
            envelope.
    """

    depths: Tensor
    median: int
    outliers: tuple[int, ...]
    inner_core: Tensor
    inner_union: Tensor
    outer_core: Tensor
    outer_union: Tensor


def band_depth(masks: Tensor, tolerance: float | None = None) -> Tensor:
    """How often each mask lies in the band of two others.

    The band of two masks reaches from their intersection to their union. A
    mask misses it by the share of the intersection that the mask lacks, or
    by the share of itself outside the union, whichever is larger.

    Args:
        masks: (S, H, W) bool.
        tolerance: Largest miss of a mask that counts as inside, 0 for strict
            bands: the depth is the share of pairs around it. None weighs
            each pair by one minus the miss; real outlines cross too often
            for strict bands.

    Returns:
        Depths (S,) float64, over all pairs of *other* masks; 1 for fewer
        than three masks, among which none is deeper.
    """
    if masks.dim() != 3 or masks.dtype != torch.bool or 0 in masks.shape:
        raise UserError(
            f'masks: expected bool of a shape (S, H, W), got {masks.dtype} '
            f'of shape {tuple(masks.shape)}'
        )
    number = len(masks)
    if number < 3:
        return torch.ones(number, dtype=torch.float64)
    parts = masks.flatten(1).split(PART, dim=1)
    if len(parts) == 1:
        parts = (parts[0].float(),)

    def sizes(rows: slice, column: slice | int) -> Tensor:
        """Of intersections of three: rows, another mask, and all."""
        found = []
        for part in parts:
            part = part.float()
            found.append(((part[rows] * part[column]) @ part.T).double())
        return torch.stack(found).sum(0)

    both = sizes(slice(None), slice(None))  # (S, S)
    area = both.diagonal()
    total = torch.zeros(number, dtype=torch.float64, device=masks.device)
    for first in range(number - 1):
        # Rows are the second mask of the pair, columns the mask in question.
        triple = sizes(slice(first + 1, None), first)
        core = both[first, first + 1 :, None]
        lacking = (core - triple) / core.clamp(min=1)
        outside = area - both[first] - both[first + 1 :] + triple
        miss = torch.maximum(lacking, outside / area.clamp(min=1))
        inside = 1 - miss if tolerance is None else (miss <= tolerance) * 1.0
        inside[:, first] = 0
        inside.diagonal(first + 1).zero_()  # the second mask itself
        total += inside.sum(0)
    return (total / ((number - 1) * (number - 2) / 2)).cpu()


@torch.no_grad()
def contour_boxplot(
    masks: Tensor, tolerance: float | None = None
) -> ContourBoxplot:
    """Summarise the outlines of an object.

    Args:
        masks: (S, H, W) bool.
        tolerance: See `band_depth`.

    Returns:
        The median, the band of the deepest half, the envelope of all but the
        outliers: masks whose depth lies more than 1.5 interquartile ranges
        below the lower quartile.
    """
    depths = band_depth(masks, tolerance)
    order = depths.argsort(descending=True, stable=True)
    quarter = torch.tensor([0.25, 0.75], dtype=torch.float64)
    low, high = depths.quantile(quarter)
    fence = low - WHISKER * (high - low) - EVEN
    usual = (depths >= fence).to(masks.device)
    half = masks[order[: (len(masks) + 1) // 2].to(masks.device)]
    return ContourBoxplot(
        depths=depths,
        median=int(order[0]),
        outliers=tuple((~usual).nonzero().flatten().tolist()),
        inner_core=half.all(0),
        inner_union=half.any(0),
        outer_core=masks[usual].all(0),
        outer_union=masks[usual].any(0),
    )
