"""How annotators agree at a distance: the two numbers of smooth fields.

Where two pixels are disputed, an annotator who includes one tends to include
the other. How far that reaches is what `correlation_length` and `common` of
the training-free sampler say; both follow from the annotations alone.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from ...utils.checks import at_least
from ...utils.errors import UserError

# Along rows, columns and both diagonals.
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
# Least probability, smoothed over neighbours, of both answers.
DISPUTED = 0.2
# Largest difference of the probabilities of two pixels that are compared: for
# others, the arc sine is not the law.
SIMILAR = 0.25
# Correlations that are neither noise nor rounding.
CLEAR = (0.15, 0.97)


class FieldFit(NamedTuple):
    """Correlation of annotators between pixels, and what fits it.

    Attributes:
        correlation_length: In pixels; None where all pixels go together.
        common: Share of the variance that all pixels have in common.
        distances: Distances in pixels (D,).
        correlations: Correlation of the normal values behind (D,), NaN where
            no pair of disputed pixels lies at that distance.
    """

    correlation_length: float | None
    common: float
    distances: Tensor
    correlations: Tensor


def disputed_covariance(
    labels: Tensor,
    max_distance: int,
    num_classes: int,
    ignore_index: int = 255,
) -> Tensor:
    """Sums over pairs of disputed pixels of one image, by their distance.

    Args:
        labels: Annotations (A, H, W), A >= 2.
        max_distance: Steps along each direction, D.
        num_classes: Number of classes K; of two, the second counts.
        ignore_index: Pixels that somebody left out do not count.

    Returns:
        (4, D, 4): for each direction and number of steps the sums of the
        annotators' covariances, of the largest covariances if the two pixels
        were equally probable, of the squared differences of their
        probabilities, and of 1. Estimates without bias.
    """
    sums = torch.zeros(len(DIRECTIONS), max_distance, 4, dtype=torch.float64)
    known = (labels != ignore_index).all(0)
    number = len(labels)
    for k in range(1 if num_classes == 2 else 0, num_classes):
        votes = (labels == k).double()
        mean, variance = votes.mean(0), votes.var(0)
        smooth = avg_pool2d(
            mean[None, None], 3, 1, padding=1, count_include_pad=False
        )[0, 0]
        disputed = known & (smooth >= DISPUTED) & (smooth <= 1 - DISPUTED)
        disputed &= variance > 0  # at an edge, neighbours alone may differ
        if not disputed.any():
            continue
        for i, (down, right) in enumerate(DIRECTIONS):
            for step in range(1, max_distance + 1):
                windows = _shifted(labels.shape[1:], down, right, step)
                if windows is None:
                    break
                near, far = windows
                both = disputed[near] & disputed[far]
                both &= (smooth[near] - smooth[far]).abs() <= SIMILAR
                pairs = (votes[(..., *near)] * votes[(..., *far)]).mean(0)
                product = mean[near] * mean[far]
                covariance = (pairs - product) * number / (number - 1)
                # Without bias, as the covariance: by different annotators.
                product = product - covariance / number
                equal = 0.5 * (mean[near] + mean[far]) - product
                noise = variance[near] + variance[far] - 2 * covariance
                gap = (mean[near] - mean[far]).square() - noise / number
                parts = covariance, equal, gap, torch.ones_like(gap)
                sums[i, step - 1] += torch.stack(
                    [part[both].sum() for part in parts]
                )
    return sums


def correlation(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation of the normal values behind, and its weight.

    The covariance is largest, ``min(p, q) - p q``, where an annotator who
    includes the less probable pixel includes the other. With few annotators
    the difference of p and q is mostly chance: what chance adds to its square
    is taken off the mean square, and its mean size follows as if it were
    normally distributed.

    Args:
        sums: Of `disputed_covariance` (..., 4).

    Returns:
        Correlations (...), NaN without pairs; largest covariances (...).
    """
    covariance, equal, gap, pairs = sums.unbind(-1)
    size = (2 / math.pi * (gap / pairs).clamp_min(0)).sqrt()
    largest = equal - 0.5 * pairs * size
    share = (covariance / largest).clamp(-1, 1)
    return torch.sin(0.5 * math.pi * share), largest.nan_to_num()


Window = tuple[slice, slice]


def _shifted(
    size: torch.Size, down: int, right: int, step: int
) -> tuple[Window, Window] | None:
    """Windows of pixels and of those some steps away; None: outside."""
    rows, columns = step * down, step * abs(right)
    if rows >= size[0] or columns >= size[1]:
        return None
    top, bottom = slice(0, size[0] - rows), slice(rows, size[0])
    left, other = slice(0, size[1] - columns), slice(columns, size[1])
    if right < 0:
        left, other = other, left
    return (top, left), (bottom, other)


def fit_field(
    images: Iterable[Tensor],
    num_classes: int,
    max_distance: int,
    ignore_index: int = 255,
) -> FieldFit:
    """Fit the correlation of fields to annotations.

    The covariance of annotators at two disputed pixels, as a share of the
    largest that the pixels' frequencies allow, is 2 / pi times the arc sine
    of the correlation of the normal values behind (exactly so at frequencies
    of one half, at no and at full correlation). The correlation at large
    distances is the common part; what exceeds it falls as ``exp(-0.5 *
    (distance / correlation_length) ** 2)``, whose logarithm a straight line
    fits.

    Args:
        images: Annotations (A, H, W) of each image.
        num_classes: Number of classes K.
        max_distance: Largest distance in pixels that is looked at; from half
            of it on, only the common part counts.
        ignore_index: Id of unlabelled pixels.

    Raises:
        UserError: There is no pair of disputed pixels.
    """
    at_least(4, max_distance=max_distance)
    total = torch.zeros(len(DIRECTIONS), max_distance, 4, dtype=torch.float64)
    for labels in images:
        if len(labels) > 1:
            total += disputed_covariance(
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
            'annotators never disagree about two pixels of an image: there '
            'is no correlation to fit (several annotators are needed)'
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
