"""Energy distance to labels whose classes flip at random, in closed form."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ...structures import ClassFlips
from ...utils.errors import UserError
from .energy import EnergyTerms, expected_distance
from .inputs import (
    check_maps,
    check_same_size,
    join_images,
    split_images,
)
from .iou import ClassIoU, joint_class_ious


def flip_class_ious(
    samples: Tensor,
    label: Tensor,
    *,
    flips: ClassFlips,
    num_classes: int,
    ignore_index: int = 255,
) -> ClassIoU:
    """IoUs of the 2n switchable classes among samples and two label states.

    In any of the 2^n modes, a pair (class, twin) looks as in the base label
    or as in the label with everything flipped, so these two maps are enough.

    Args:
        samples: Shape (S, H, W).
        label: Base label, shape (H, W).
        flips: The n entries (class, twin, probability).
        num_classes: Number of classes.
        ignore_index: Void id of the label, masked in every pair.

    Returns:
        Table of shape (2n, S + 2, S + 2): the samples, the base label, the
        flipped one; class and twin of a flip next to each other.
    """
    check_maps('label', label[None], num_classes, ignore_index)
    return joint_class_ious(
        samples,
        torch.stack([label, flips.flip_all(label)]),
        num_classes=num_classes,
        classes=flips.ids,
        ignore_index=ignore_index,
    )


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


def flip_terms_from_iou(table: ClassIoU, flips: ClassFlips) -> EnergyTerms:
    """Terms of the energy distance from :func:`flip_class_ious`."""
    n, s = len(flips), table.iou.shape[1] - 2
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
    return EnergyTerms(
        1 - cross.sum() / weight.sum(),
        expected_distance(table.part(slice(s), slice(s)).mean('skip')),
        1 - within / within_weight,
    )


@torch.no_grad()
def flip_energy_terms(
    samples: Tensor,
    label: Tensor,
    flips: Iterable[Sequence],
    num_classes: int,
    ignore_index: int = 255,
) -> EnergyTerms:
    """The three terms of :func:`flip_energy_distance`; same inputs."""
    table = ClassFlips.parse(flips, num_classes)
    if not table:
        raise UserError(
            'flips: expected at least one row (class id, twin id, '
            'probability); without any, use generalized_energy_distance'
        )
    terms = []
    for s, y in split_images(samples, label, label_dim=2):
        check_same_size(samples=s, label=y)
        ious = flip_class_ious(
            s,
            y,
            flips=table,
            num_classes=num_classes,
            ignore_index=ignore_index,
        )
        terms.append(flip_terms_from_iou(ious, table))
    columns = zip(*terms, strict=True)
    return EnergyTerms(*(join_images(list(c), samples) for c in columns))


def flip_energy_distance(
    samples: Tensor,
    label: Tensor,
    *,
    flips: Iterable[Sequence],
    num_classes: int,
    ignore_index: int = 255,
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

    Returns:
        Scalar, or shape (N,); NaN where an expectation has no pair left.
    """
    return flip_energy_terms(
        samples, label, flips, num_classes, ignore_index
    ).ged
