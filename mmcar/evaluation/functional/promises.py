"""Promises about new images: conformal risk control.

An image's loss at a level is a step function that never rises with the level:
the share of an annotator's mark that a region misses, say. `Steps` are its
jumps. On calibration images that are exchangeable with the new one, the
smallest level whose mean loss is small enough promises the same of the new
image, whatever the model (Angelopoulos et al., Conformal Risk Control, 2022).
A loss of 0 or 1 makes it a promise of coverage: the ordinary conformal
quantile.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ...utils.errors import UserError
from ...utils.ids import has_id
from .hypotheses import Hypothesis
from .iou import Comparison, cross_class_ious


class Steps(NamedTuple):
    """Loss of one image, between 0 and 1, at every level.

    Attributes:
        levels: Where the loss falls (J,), float64; infinite: it never does.
        heights: By how much (J,), float64. The loss at a level is the sum
            of the heights above it.
    """

    levels: Tensor
    heights: Tensor

    def loss(self, level: float) -> float:
        """The loss at a level."""
        return float(self.heights[self.levels > level].sum())


class Held(NamedTuple):
    """What a promise came to on images that it was not fitted on.

    Attributes:
        loss: Mean over units.
        standard_error: Of that mean; NaN of one unit.
        units: Number of units: patients, or images.
    """

    loss: float
    standard_error: float
    units: int


def _steps(levels: Tensor, heights: Tensor) -> Steps:
    """Join equal levels, which bounds memory for large images."""
    levels, places = levels.double().unique(return_inverse=True)
    sums = torch.zeros_like(levels)
    return Steps(levels.cpu(), sums.index_add_(0, places, heights).cpu())


def _on_grid(probs: Tensor, rounding: Callable[[Tensor], Tensor]) -> Tensor:
    """Probabilities with ten bits each: a region at a level is the same."""
    probs = probs.double()
    scale = 2.0 ** (probs.clamp_min(2.0**-30).log2().floor() - 10)
    return rounding(probs / scale) * scale


def region_steps(
    probs: Tensor,
    labels: Tensor,
    class_id: int = 1,
    ignore_index: int = 255,
    marked_only: bool = False,
) -> Steps:
    """Share of an annotator's mark that a region misses.

    The region at level l has all pixels with a probability of at least
    1 - l. Who marked nothing misses nothing.

    Args:
        probs: Of the class (H, W).
        labels: Label maps (A, H, W).
        class_id: The class.
        ignore_index: Id of unlabelled pixels.
        marked_only: Of the annotators who marked something; no step at all
            where nobody did.

    Examples:
        >>> probs = torch.tensor([[0.1, 0.6, 0.9]])
        >>> labels = torch.tensor([[[0, 1, 1]], [[0, 0, 1]]])
        >>> region_steps(probs, labels).loss(0.2)  # misses one of two, and 0
        0.25
    """
    marks = has_id(labels, class_id) & ~has_id(labels, ignore_index)
    sizes = marks.flatten(1).sum(1).double()
    annotators = max(int((sizes > 0).sum()) if marked_only else len(labels), 1)
    weights = torch.where(sizes > 0, 1 / (annotators * sizes), 0.0)
    places = marks.any(0)
    heights = (marks[:, places] * weights[:, None]).sum(0)
    return _steps(1 - _on_grid(probs[places], torch.floor), heights)


def inner_region_steps(
    probs: Tensor, labels: Tensor, class_id: int = 1, ignore_index: int = 255
) -> Steps:
    """Share of a region that an annotator would not mark.

    The region at level t has all pixels with a probability above t. A
    smaller region may be worse than a larger one: the loss at t is the
    largest of all regions at t and above. An empty region has none.

    Args:
        probs: Of the class (H, W).
        labels: Label maps (A, H, W).
        class_id: The class.
        ignore_index: Id of unlabelled pixels: they count in no region.
    """
    # The region at a level has the values above it: the jump of the value.
    values, places = _on_grid(probs, torch.ceil).unique(return_inverse=True)
    levels, loss = values.flip(0), torch.zeros_like(values)
    for label in labels:
        known = ~has_id(label, ignore_index)
        wrong, all_of_it = (
            torch.bincount(places[pixels], minlength=len(values))
            .flip(0)
            .cumsum(0)
            .double()
            for pixels in (known & ~has_id(label, class_id), known)
        )
        share = wrong / all_of_it.clamp_min(1)
        loss += share.cummax(0).values / len(labels)
    heights = loss.diff(prepend=loss.new_zeros(1))
    falls = heights > 0
    return Steps(levels[falls].cpu(), heights[falls].cpu())


def rank_steps(ious: Tensor, threshold: float) -> Steps:
    """Whether the first k hypotheses miss an annotator's map; k is the level.

    Args:
        ious: Of hypotheses in their order with annotators (M, A).
        threshold: IoU from which a hypothesis is the annotator's map.

    Examples:
        >>> ious = torch.tensor([[0.2, 0.9], [0.7, 0.1]])
        >>> [rank_steps(ious, 0.5).loss(k) for k in (0, 1, 2)]
        [1.0, 0.5, 0.0]
    """
    found = ious >= threshold
    first = torch.where(found.any(0), found.int().argmax(0) + 1.0, math.inf)
    heights = torch.full_like(first, 1 / ious.shape[1], dtype=torch.float64)
    return _steps(first, heights)


def best_iou_steps(ious: Tensor) -> Steps:
    """Whether all hypotheses have a smaller IoU than 1 - level.

    Args:
        ious: Of hypotheses with annotators (M, A).
    """
    best = ious.double().amax(0)
    return _steps(1 - best, torch.full_like(best, 1 / len(best)))


def area_steps(low: float, high: float, areas: Tensor) -> Steps:
    """Whether an area lies outside of an interval widened by the level.

    An interval that begins at 0 is never missed from below: else all who
    marked nothing would tie at its end, and cover too much together.

    Args:
        low: Lower end of the interval.
        high: Upper end.
        areas: What annotators marked (A,).
    """
    areas = areas.double()
    outside = areas - high
    if low > 0:
        outside = torch.maximum(low - areas, outside)
    return _steps(outside, torch.full_like(areas, 1 / len(areas)))


def _by_unit(
    steps: Sequence[Steps], units: Sequence[Hashable] | None
) -> list[list[Steps]]:
    """Steps of the images of each unit; None: each image is one."""
    names = range(len(steps)) if units is None else units
    groups: dict[Hashable, list[Steps]] = {}
    for name, step in zip(names, steps, strict=True):
        groups.setdefault(name, []).append(step)
    return list(groups.values())


def images_needed(alpha: float) -> int:
    """How many calibration units a promise with error alpha needs."""
    if not 0 < alpha < 1:
        raise UserError(
            f'alpha={alpha}: expected an error rate between 0 and 1, such as '
            '0.1'
        )
    return math.ceil(1 / alpha - 1 - 1e-9)


def promised_level(
    steps: Sequence[Steps],
    alpha: float,
    units: Sequence[Hashable] | None = None,
) -> float:
    """The smallest level at which the loss of a new image can be promised.

    Args:
        steps: Of the calibration images.
        alpha: The promise: on a new image of the same kind the expected loss
            is at most alpha.
        units: What each image belongs to, its patient say: images of one
            unit resemble each other, and their mean counts once. None: each
            image stands for itself.

    Returns:
        The level; infinite if no level can be promised.

    Examples:
        >>> one = torch.ones(1, dtype=torch.float64)
        >>> steps = [Steps(k * one, one) for k in range(1, 11)]
        >>> promised_level(steps, alpha=0.2)  # covers 9 of 11: one is new
        9.0
    """
    groups = _by_unit(steps, units)
    n = len(groups)
    if n < images_needed(alpha):
        raise UserError(
            f'{n} calibration images or patients: a promise with '
            f'alpha={alpha} needs at least {images_needed(alpha)}'
        )
    levels = torch.cat([s.levels for group in groups for s in group])
    heights = torch.cat(
        [s.heights / len(group) for group in groups for s in group]
    )
    levels, order = levels.sort(descending=True)
    # Loss just below each level; rounding must not cost a whole step.
    above = heights[order].cumsum(0)
    too_much = (above > (n + 1) * alpha - 1 + 1e-9).nonzero()
    return float(levels[too_much[0, 0]]) if len(too_much) else -math.inf


def what_held(
    steps: Sequence[Steps],
    level: float,
    units: Sequence[Hashable] | None = None,
) -> Held:
    """The loss at a level on further images.

    Args:
        steps: Of images that the level was not fitted on.
        level: From `promised_level`.
        units: As there.
    """
    means = [
        sum(s.loss(level) for s in group) / len(group)
        for group in _by_unit(steps, units)
    ]
    losses, number = torch.tensor(means, dtype=torch.float64), len(means)
    error = float(losses.std()) / number**0.5 if number > 1 else math.nan
    return Held(float(losses.mean()), error, number)


def area_interval(
    samples: Tensor, alpha: float, class_id: int = 1
) -> tuple[float, float]:
    """Interval of areas with a share 1 - alpha of the samples, in pixels.

    Args:
        samples: Label maps (S, H, W).
        alpha: Share of the samples outside, half of it at each end.
        class_id: The class.
    """
    areas = has_id(samples, class_id).flatten(1).sum(1).double()
    ends = areas.new_tensor([alpha / 2, 1 - alpha / 2])
    low, high = areas.quantile(ends).tolist()
    return low, high


def area_crps(
    samples: Tensor,
    labels: Tensor,
    class_id: int = 1,
    ignore_index: int = 255,
    sample_weights: Tensor | None = None,
) -> float:
    """Continuous ranked probability score of a class's area, in pixels.

    ``E |a - y| - E |a - a'| / 2`` with areas a, a' of samples and y of an
    annotator, over all pairs; smaller is better. Pixels that no annotator
    labelled count nowhere, and neither do annotators without a labelled
    pixel; NaN where nobody has one.

    Args:
        samples: Label maps (S, H, W).
        labels: Label maps (A, H, W).
        class_id: The class.
        ignore_index: Id of unlabelled pixels.
        sample_weights: What each sample counts (S,); None is alike.

    Examples:
        >>> samples = torch.tensor([[[1, 0, 0]], [[1, 1, 1]]])
        >>> area_crps(samples, torch.tensor([[[1, 1, 0]]]))
        0.5
    """
    unlabelled = has_id(labels, ignore_index)
    labels = labels[~unlabelled.flatten(1).all(1)]
    areas, marked = (
        (has_id(maps, class_id) & ~unlabelled.all(0)).flatten(1).sum(1)
        for maps in (samples, labels)
    )
    alike = torch.ones_like(areas)
    weights = alike if sample_weights is None else sample_weights
    weights = weights.to(areas.device).double() / weights.sum()
    error = weights @ (areas[:, None] - marked).abs().double().mean(1)
    spread = weights @ (areas[:, None] - areas).abs().double() @ weights
    return float(error - spread / 2)


def promise_steps(
    probs: Tensor,
    samples: Tensor,
    hypotheses: Sequence[Hypothesis],
    labels: Tensor,
    class_id: int,
    alpha: float,
    iou: float,
    ignore_index: int = 255,
) -> dict[str, Steps]:
    """Losses of one image by all that can be promised of a class.

    Args:
        probs: Of all classes (K, H, W).
        samples: Label maps (S, H, W).
        hypotheses: Of these samples, most probable first.
        labels: Label maps (A, H, W); who labelled no pixel is left out.
        class_id: The class.
        alpha: Error level, of which the area's interval is made.
        iou: IoU from which a hypothesis is an annotator's map.
        ignore_index: Id of unlabelled pixels.

    Returns:
        Steps of ``region``, ``region_if_marked``, ``inner_region``,
        ``samples``, ``best_iou`` and ``area``; none if nobody labelled a
        pixel.
    """
    labels = labels[~has_id(labels, ignore_index).flatten(1).all(1)]
    if not len(labels):
        return {}
    maps = samples[[h.representative for h in hypotheses]]
    how = Comparison(len(probs), (class_id,), 'one', ignore_index)
    ious = cross_class_ious(maps, labels, how).mean('one')
    marked = has_id(labels, class_id).flatten(1).sum(1)
    one, where = probs[class_id], (labels, class_id, ignore_index)
    return dict(
        region=region_steps(one, *where),
        region_if_marked=region_steps(one, *where, marked_only=True),
        inner_region=inner_region_steps(one, *where),
        samples=rank_steps(ious, iou),
        best_iou=best_iou_steps(ious),
        area=area_steps(*area_interval(samples, alpha, class_id), marked),
    )


def fit_levels(
    steps: Sequence[Mapping[str, Steps]],
    alpha: float,
    units: Sequence[Hashable] | None = None,
) -> dict[str, float]:
    """The levels of all promises that can be given.

    Args:
        steps: From `promise_steps` of the calibration images.
        alpha: See `promised_level`.
        units: Likewise.

    Returns:
        Levels by name. If no number of hypotheses can be promised,
        ``samples`` is missing, and ``best_iou`` takes its place.
    """
    levels = {
        name: promised_level([s[name] for s in steps], alpha, units)
        for name in ('region', 'inner_region', 'samples', 'best_iou', 'area')
    }
    del levels['best_iou' if math.isfinite(levels['samples']) else 'samples']
    # No loss at any level: the first level there is will do.
    return {
        name: level if name == 'area' else max(level, 0.0)
        for name, level in levels.items()
    }


def promised_region(probs: Tensor, level: float) -> Tensor:
    """The region (H, W) bool of `region_steps` at a level.

    Args:
        probs: Of the class (H, W).
        level: From `promised_level`.

    Examples:
        >>> promised_region(torch.tensor([[0.1, 0.6, 0.9]]), level=0.5)
        tensor([[False,  True,  True]])
    """
    return 1 - _on_grid(probs, torch.floor) <= level


def promised_inner_region(probs: Tensor, level: float) -> Tensor:
    """The region (H, W) bool of `inner_region_steps` at a level.

    Args:
        probs: Of the class (H, W).
        level: From `promised_level`.
    """
    return _on_grid(probs, torch.ceil) > level


def promised_area(
    low: float, high: float, level: float
) -> tuple[float, float]:
    """The interval of `area_steps` at a level, in pixels.

    Args:
        low: Lower end of the interval, see `area_interval`.
        high: Upper end.
        level: From `promised_level`.

    Examples:
        >>> promised_area(10, 20, 2.5)
        (7.5, 22.5)
    """
    low, high = max(low - level, 0.0) if low else 0.0, max(high + level, 0.0)
    # Too narrow by a negative level: the middle stands for it.
    return (low, high) if low <= high else ((low + high) / 2,) * 2
