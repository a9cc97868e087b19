"""How annotators agree at a distance: the two numbers of smooth fields.

Where two pixels are disputed, an annotator who includes one tends to include
the other. How far that reaches is what `correlation_length` and `common` of
the training-free sampler say; both follow from the annotations alone.

Which pixels are compared must not depend on the votes that are compared:
pixels chosen because two annotators disagree there would make them look less
alike than they are. So the outline of one annotator says where to look at the
others, each in turn.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.ids import has_id

# Along rows, columns and both diagonals.
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
# Least share of the 3x3 pixels around one on both sides of an outline.
OUTLINE = 0.2
# Correlations that are neither noise nor rounding.
CLEAR = (0.15, 0.97)


class FieldFit(NamedTuple):
    """Correlation of annotators between pixels, and what fits it.

    Attributes:
        correlation_length: In pixels; None where all pixels go together.
        common: Share of the variance that all pixels have in common.
        distances: Distances in pixels (D,).
        correlations: Correlation of the normal values behind (D,), NaN where
            no pair of pixels on an outline lies at that distance.
    """

    correlation_length: float | None
    common: float
    distances: Tensor
    correlations: Tensor


def outline_sums(
    labels: Tensor,
    max_distance: int,
    num_classes: int,
    ignore_index: int = 255,
) -> Tensor:
    """Sums over pairs of pixels on an annotator's outline, by distance.

    Args:
        labels: Annotations (A, H, W), A >= 3.
        max_distance: Steps along each direction, D.
        num_classes: Number of classes K; of two, the second counts.
        ignore_index: Pixels that somebody left out do not count.

    Returns:
        (4, D, 5): for each direction and number of steps, summed over pairs
        of pixels, annotators whose outline they lie on, and classes, of what
        the *other* annotators include: how often one of them includes both
        pixels; one the first and another the second; two the same pixel; one
        a pixel; and 1.
    """
    sums = torch.zeros(len(DIRECTIONS), max_distance, 5, dtype=torch.float64)
    known = (~has_id(labels, ignore_index)).all(0)
    others = len(labels) - 1
    pairs = others * (others - 1)
    height, width = labels.shape[1:]
    for k in range(1 if num_classes == 2 else 0, num_classes):
        votes = has_id(labels, k).float()
        # An outline that all share says nothing about how they differ.
        differ = (votes != votes[:1]).any(0, keepdim=True).float()
        open_ = known & (max_pool2d(differ, 3, 1, padding=1)[0] > 0)
        around = avg_pool2d(votes, 3, 1, padding=1, count_include_pad=False)
        outlines = (around >= OUTLINE) & (around <= 1 - OUTLINE) & open_
        for i, (down, right) in enumerate(DIRECTIONS):
            reach = min(height if down else width, width if right else height)
            for step in range(1, min(max_distance + 1, reach)):
                away = step * down, step * right
                near, far = _apart(outlines, *away)
                whose, rows, columns = (near & far).nonzero(as_tuple=True)
                # Votes (A, P) at these pixels, but not those of its owner.
                x, y = (m[:, rows, columns] for m in _apart(votes, *away))
                x[whose, range(len(whose))] = 0
                y[whose, range(len(whose))] = 0
                both, first, second = (x * y).sum(0), x.sum(0), y.sum(0)
                parts = (
                    both / others,
                    (first * second - both) / pairs,
                    (first.square() - first + second.square() - second)
                    / (2 * pairs),
                    (first + second) / (2 * others),
                    torch.ones_like(both),
                )
                sums[i, step - 1] += torch.stack(parts).double().sum(1)
    return sums


def _apart(maps: Tensor, down: int, right: int) -> tuple[Tensor, Tensor]:
    """The pixels of maps that have another so far away, and these."""
    height, width = maps.shape[-2:]
    left, right = max(-right, 0), max(right, 0)
    near = maps[..., : height - down, left : width - right]
    return near, maps[..., down:, right : width - left]


def correlation(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation of the normal values behind, and its weight.

    A vote is the sign of what all annotators share of a pixel plus a normal
    value of one's own. On an outline both are about normal; so the
    correlation of the sums at two pixels is that of the shared part alone
    where the annotators are two, and more where it is one and the same. The
    difference, divided by what is one's own of the variance, is the
    correlation of one's own part. Each correlation is the sine of pi / 2
    times that of the votes, which is exact at frequencies of one half.

    Args:
        sums: Of `outline_sums` (..., 5).

    Returns:
        Correlations (...), NaN without pairs; the votes' own variance (...).
    """
    *together, included, pairs = sums.unbind(-1)
    mean = included / pairs
    alike, apart, pixel = (
        torch.sin(
            0.5
            * math.pi
            * ((part / pairs - mean**2) / (mean - mean**2)).clamp(-1, 1)
        )
        for part in together
    )
    found = ((alike - apart) / (1 - pixel)).clamp(-1, 1)
    return found, (included - together[2]).nan_to_num()


def fit_field(
    images: Iterable[Tensor],
    num_classes: int,
    max_distance: int,
    ignore_index: int = 255,
) -> FieldFit:
    """Fit the correlation of fields to annotations.

    The correlation at large distances is the common part; what exceeds it
    falls as ``exp(-0.5 * (distance / correlation_length) ** 2)``, whose
    logarithm a straight line fits.

    Args:
        images: Annotations (A, H, W) of each image; those with less than 3
            are left out.
        num_classes: Number of classes K.
        max_distance: Largest distance in pixels that is looked at; from half
            of it on, only the common part counts.
        ignore_index: Id of unlabelled pixels.

    Raises:
        UserError: There is nothing that three annotators dispute.
    """
    at_least(4, max_distance=max_distance)
    total = torch.zeros(len(DIRECTIONS), max_distance, 5, dtype=torch.float64)
    for labels in images:
        if len(labels) > 2:
            total += outline_sums(
                labels, max_distance, num_classes, ignore_index
            )
    steps = torch.arange(1, max_distance + 1, dtype=torch.float64)
    lengths = torch.tensor([math.hypot(*d) for d in DIRECTIONS]).double()
    distances = (lengths[:, None] * steps).flatten()
    order = distances.argsort()
    order = order[distances[order] <= max_distance]
    distances = distances[order]
    correlations, weights = correlation(total.flatten(0, 1)[order])
    weights = weights.where(~correlations.isnan(), 0.0)
    if not weights.sum() > 0:
        raise UserError(
            'three or more annotators of an image never disagree about two '
            'pixels of it: there is no correlation to fit'
        )
    values = correlations.nan_to_num()
    length, common = _two_numbers(distances, values, weights)
    return FieldFit(length, common, distances, correlations)


def _two_numbers(
    distances: Tensor, values: Tensor, weights: Tensor
) -> tuple[float | None, float]:
    """Correlation length and common part, by weighted means."""
    far = distances >= 0.5 * distances.max()
    plateau = far if (weights * far).sum() > 0 else torch.ones_like(far)
    own = weights * plateau
    common = float(((values * own).sum() / own.sum()).clamp(0, 1))
    if common > CLEAR[1]:
        return None, 0.0
    rest = (values - common) / (1 - common)
    # Up to where it first falls into the noise: what is above it farther
    # out is chance.
    before = ((rest <= CLEAR[0]).cumsum(0) == 0) & (weights > 0)
    clear = before & (rest < CLEAR[1])
    if not clear.any():
        # Either all that is not common is gone after a pixel, or nothing is.
        return (None, 0.0) if before.any() else (0.5, common)
    squares = distances[clear].square()
    falls = -2 * rest[clear].log()  # distance^2 / length^2
    # The logarithm of a small value is the less certain.
    own = weights[clear] * rest[clear].square()
    inverse = (own * squares * falls).sum() / (own * squares.square()).sum()
    return float(inverse.rsqrt()), common
