"""Scores where classes of labels flip at random by a known table."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ...structures import ClassFlips
from ...utils.errors import UserError
from ...utils.ids import has_id
from .ged import EnergyTerms, expected_distance
from .inputs import (
    check_maps,
    check_probs,
    check_same_size,
    image_weights,
    join_images,
    split_images,
)
from .iou import joint_class_ious


def _convolve(a: Tensor, b: Tensor) -> Tensor:
    """Product of polynomials: (n, ...) and (3, ...) -> (n + 2, ...)."""
    product = a.new_zeros(len(a) + 2, *a.shape[1:])
    for power, coefficient in enumerate(b):
        product[power : power + len(a)] += coefficient * a
    return product


def _sum_over_states(
    iou: Tensor, count: Tensor, prob: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected mean IoU over all combinations of independent states.

    The IoU of a pair of maps is (sum of the flips' IoUs) / (number of present
    classes). The sum adds up flip by flip, only the division couples them; so
    go through the flips once and keep, for each number of present classes so
    far, its probability and the expected sum of IoUs together with it.

    Args:
        iou: Sum of the IoUs of class and twin per state, (n, states, ...).
        count: How many of the two are present, 0 to 2, same shape.
        prob: Probability of each state of each flip, (n, states).

    Returns:
        Expected mean IoU and probability, both restricted to combinations
        in which some class is present; shape (...).
    """
    prob = prob.view(*prob.shape, *[1] * (iou.dim() - 2))
    has = torch.stack([prob * (count == k) for k in range(3)], 1)
    flip_mass = has.sum(2)  # (n, 3, ...): P(k classes)
    flip_total = (has * iou[:, None]).sum(2)  # E[sum of IoUs; k classes]
    mass, total = flip_mass[0], flip_total[0]
    for m, t in zip(flip_mass[1:], flip_total[1:], strict=True):
        total = _convolve(total, m) + _convolve(mass, t)
        mass = _convolve(mass, m)
    number = torch.arange(1, len(mass)).to(mass)
    number = number.view(-1, *[1] * (mass.dim() - 1))
    return (total[1:] / number).sum(0), mass[1:].sum(0)


def _terms(
    samples: Tensor,
    label: Tensor,
    flips: ClassFlips,
    num_classes: int,
    ignore_index: int,
    sample_weights: Tensor | None,
) -> EnergyTerms:
    """The terms of one image.

    In any of the 2^n modes, a pair (class, twin) looks as in the base label
    or as in the label with everything flipped: these two maps are enough.
    """
    check_maps('label', label[None], num_classes, ignore_index)
    check_same_size(samples=samples, label=label)
    table = joint_class_ious(
        samples,
        torch.stack([label, flips.flip_all(label)]),
        num_classes=num_classes,
        classes=flips.ids,  # class and twin of a flip next to each other
        ignore_index=ignore_index,
    )
    n, s = len(flips), len(samples)
    p = table.iou.new_tensor([p for _, _, p in flips])
    prob = torch.stack([1 - p, p], 1)  # (n, 2): base, flipped
    iou = table.iou.unflatten(0, (n, 2)).sum(1)  # (n, S + 2, S + 2)
    count = table.present.unflatten(0, (n, 2)).sum(1)

    def cross_states(x: Tensor) -> Tensor:
        return x[:, :s, s:].transpose(1, 2)  # (n, 2, S)

    def label_states(x: Tensor) -> Tensor:
        return x[:, s:, s:].flatten(1)  # (n, 4)

    cross, weight = _sum_over_states(
        cross_states(iou), cross_states(count), prob
    )
    within, within_weight = _sum_over_states(
        label_states(iou),
        label_states(count),
        (prob[:, :, None] * prob[:, None]).flatten(1),
    )
    among = table.part(slice(s), slice(s)).mean('skip')
    w = sample_weights
    if w is not None:
        cross, weight = cross * w, weight * w
    return EnergyTerms(
        1 - cross.sum() / weight.sum(),
        expected_distance(among, w, w),
        1 - within / within_weight,
    )


@torch.no_grad()
def flip_energy_terms(
    samples: Tensor,
    label: Tensor,
    flips: Iterable[Sequence],
    num_classes: int,
    ignore_index: int = 255,
    sample_weights: Tensor | None = None,
) -> EnergyTerms:
    """The three terms of :func:`flip_energy_distance`; same inputs."""
    table = ClassFlips.parse(flips, num_classes)
    if not table:
        raise UserError(
            'flips: expected at least one row (class id, twin id, '
            'probability); without any, use generalized_energy_distance'
        )
    pairs = split_images(samples, label, label_dim=2)
    weights = image_weights('sample_weights', sample_weights, samples)
    terms = [
        _terms(maps, own, table, num_classes, ignore_index, w)
        for (maps, own), w in zip(pairs, weights, strict=True)
    ]
    return join_images(terms, samples)


def flip_energy_distance(
    samples: Tensor,
    label: Tensor,
    *,
    flips: Iterable[Sequence],
    num_classes: int,
    ignore_index: int = 255,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Energy distance to all 2^n modes of a label, without building them.

    Each of the n classes of the table turns as a whole into its twin with
    its probability, independently. The IoU of a pair is averaged over those
    of the 2n switchable classes that occur in at least one of its maps; a
    pair in which none occurs is left out of its expectation, whose weights
    are renormalised. Costs O(S n^2) beyond counting pixels.

    Args:
        samples: Integer label maps, shape (S, H, W) or (N, S, H, W).
        label: Base label with nothing flipped, shape (H, W) or (N, H, W).
        flips: A table, or its rows (class, twin, probability).
        num_classes: Number of classes K; ids are 0 .. K - 1.
        ignore_index: Void pixels of the label, masked in every pair.
        sample_weights: What each sample counts, shape (S,) or (N, S); None is
            uniform.

    Returns:
        Scalar, or shape (N,); NaN where an expectation has no pair left.
    """
    return flip_energy_terms(
        samples, label, flips, num_classes, ignore_index, sample_weights
    ).ged


def flip_observations(
    label: Tensor, flips: Iterable[Sequence]
) -> tuple[Tensor, Tensor]:
    """The two labels that a pixel can have, and their probabilities.

    Args:
        label: Base label, shape (H, W).
        flips: A table, or its rows (class, twin, probability).

    Returns:
        Labels and weights, both (2, H, W): base, flipped.
    """
    table = ClassFlips.parse(flips)
    flipped = torch.zeros(label.shape, dtype=torch.float64).to(label.device)
    for c, _, p in table:
        flipped[has_id(label, c)] = p
    return (
        torch.stack([label, table.flip_all(label)]),
        torch.stack([1 - flipped, flipped]),
    )


@torch.no_grad()
def flip_probability_sums(
    probs: Tensor,
    label: Tensor,
    *,
    flips: Iterable[Sequence],
    mask: Tensor | None = None,
    ignore_index: int = 255,
) -> Tensor:
    """What a model says of each twin where the label has its class.

    Args:
        probs: Class probabilities, shape ([N,] K, H, W).
        label: Base label, shape ([N,] H, W).
        flips: A table of n rows, or its rows (class, twin, probability).
        mask: Pixels to use, ([N,] H, W) bool; None is all. For a calibration
            net on a black box: where the black box agrees with the label.
        ignore_index: Label id that is no observation.

    Returns:
        Shape ([N,] n, 2), float64: sum of the twin's probability, number of
        pixels. Add them over images, then call :func:`flip_offsets`.
    """
    check_probs(probs)
    num_classes = probs.shape[-3]
    table = ClassFlips.parse(flips, num_classes)
    if label.shape != probs.shape[:-3] + probs.shape[-2:]:
        raise UserError(
            'label: expected one map per image of probs '
            f'{tuple(probs.shape)}, got {tuple(label.shape)}'
        )
    maps = label.reshape(-1, *label.shape[-2:])
    check_maps('label', maps, num_classes, ignore_index)
    if mask is not None and mask.shape != label.shape:
        raise UserError(
            f'mask: expected the shape of label {tuple(label.shape)}, got '
            f'{tuple(mask.shape)}'
        )
    seen = ~has_id(label, ignore_index)
    seen = seen if mask is None else seen & mask
    rows = []
    for c, twin, _ in table:
        where = has_id(label, c) & seen
        said = probs[..., twin, :, :].double() * where
        rows.append(torch.stack([said.sum((-2, -1)), where.sum((-2, -1))], -1))
    return torch.stack(rows, -2)


def flip_offsets(sums: Tensor, flips: Iterable[Sequence]) -> Tensor:
    """Calibration offset ``|true - predicted probability|`` of every twin.

    Args:
        sums: Shape (..., n, 2) from :func:`flip_probability_sums`.
        flips: A table of n rows, or its rows (class, twin, probability).

    Returns:
        Shape (..., n); NaN for a class without pixels.
    """
    true = sums.new_tensor([p for _, _, p in flips])
    return (true - sums[..., 0] / sums[..., 1]).abs()
