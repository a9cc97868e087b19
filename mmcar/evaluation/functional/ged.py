"""Generalized energy distance between samples and labels.

Where classes of labels flip at random by a known table, it is the distance to
all that a label can become.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import Unpack

from ...structures import ClassFlips
from ...utils.errors import UserError
from .inputs import Maps, per_image
from .iou import Comparison, PairOptions, joint_class_ious


class EnergyTerms(NamedTuple):
    """The three expectations; each a scalar, or one value per image (N,).

    Attributes:
        cross: E d(s, y).
        samples: E d(s, s'), the diversity of the samples.
        labels: E d(y, y').
    """

    cross: Tensor
    samples: Tensor
    labels: Tensor

    @property
    def ged(self) -> Tensor:
        """``2 E d(s, y) - E d(s, s') - E d(y, y')``."""
        return 2 * self.cross - self.samples - self.labels


def ged(
    samples: Maps,
    labels: Maps,
    *,
    sample_weights: Maps | None = None,
    label_weights: Maps | None = None,
    flips: Iterable[Sequence] | None = None,
    num_samples: int | None = None,
    **options: Unpack[PairOptions],
) -> Tensor:
    """``2 E d(s, y) - E d(s, s') - E d(y, y')`` with d = 1 - IoU.

    Every expectation runs over all pairs, a map with itself included. Pairs
    without an IoU (no labelled pixel to compare, or ``absent='skip'`` and no
    class in either map) are left out of their expectation, whose weights are
    renormalised.

    Args:
        samples: Integer label maps, shape (N, S, H, W) or (S, H, W).
        labels: Integer label maps, shape (N, A, H, W) or (A, H, W).
        sample_weights: What each sample counts, shape (S,) or (N, S), as
            those of support points; None is uniform.
        label_weights: Probabilities of the labels, shape (A,) or (N, A);
            None is uniform.
        flips: A table of class flips, or its rows (class, twin,
            probability): each of its n classes turns as a whole into its
            twin, independently. The distance is then to all 2^n modes of the
            one label (A = 1), without building them; the IoU of a pair is
            averaged over those classes of the table that occur in it.
        num_samples: S, to make sure that the axes are in this order.
        options: See :class:`Comparison`; ``num_classes`` is needed.

    Returns:
        Shape (N,), or a scalar; NaN where an expectation has no pair left.

    Example:
        >>> import mmcar, torch
        >>> samples = torch.tensor([[[0, 0, 1, 1]], [[0, 1, 1, 1]]])
        >>> mmcar.ged(samples, samples, num_classes=2).item()
        0.0
        >>> mmcar.ged(samples, samples[:1], num_classes=2).item()
        0.1666...
    """
    return ged_terms(
        samples,
        labels,
        sample_weights=sample_weights,
        label_weights=label_weights,
        flips=flips,
        num_samples=num_samples,
        **options,
    ).ged


@torch.no_grad()
def ged_terms(
    samples: Maps,
    labels: Maps,
    *,
    sample_weights: Maps | None = None,
    label_weights: Maps | None = None,
    flips: Iterable[Sequence] | None = None,
    num_samples: int | None = None,
    **options: Unpack[PairOptions],
) -> EnergyTerms:
    """The three terms of :func:`ged`; same inputs."""
    how = Comparison(**options)
    table = ClassFlips.parse(flips, how.num_classes)
    if table and (how.classes is not None or how.absent == 'one'):
        raise UserError(
            f'classes={how.classes}, absent={how.absent!r}: where classes '
            'flip by a table, the distance is over the classes of the table '
            "that are present; delete 'classes' and 'absent'"
        )

    def terms(x: Tensor, y: Tensor, *weights: Tensor | None) -> EnergyTerms:
        if table:
            return _flip_terms(x, y, table, how, *weights)
        return _given_terms(x, y, how, *weights)

    return per_image(
        terms, samples, labels, sample_weights, label_weights, num_samples
    )


def _given_terms(
    samples: Tensor,
    labels: Tensor,
    how: Comparison,
    sample_weights: Tensor | None,
    label_weights: Tensor | None,
) -> EnergyTerms:
    """The terms of one image whose labels are given."""
    iou = joint_class_ious(samples, labels, how).mean(how.rule)
    s, v, w = len(samples), sample_weights, label_weights
    return EnergyTerms(
        expected_distance(iou[:s, s:], v, w),
        expected_distance(iou[:s, :s], v, v),
        expected_distance(iou[s:, s:], w, w),
    )


def expected_distance(
    iou: Tensor, rows: Tensor | None = None, columns: Tensor | None = None
) -> Tensor:
    """Weighted mean of 1 - IoU over the pairs that have an IoU.

    Args:
        iou: Shape (N, M); NaN pairs are left out, weights renormalised.
        rows: Weights (N,); None is uniform.
        columns: Weights (M,); None is uniform.

    Returns:
        Scalar, NaN if no pair has weight.
    """
    weights = torch.ones_like(iou)
    if rows is not None:
        weights = weights * rows[:, None]
    if columns is not None:
        weights = weights * columns
    weights = weights.masked_fill(iou.isnan(), 0)
    return (weights * (1 - iou).nan_to_num()).sum() / weights.sum()


def _convolve(a: Tensor, b: Tensor) -> Tensor:
    """Product of polynomials: (n, ...) and (3, ...) -> (n + 2, ...)."""
    product = a.new_zeros(len(a) + 2, *a.shape[1:])
    for power, coefficient in enumerate(b):
        product[power : power + len(a)] += coefficient * a
    return product


def _sum_over_states(
    prob: Tensor, iou: Tensor, count: Tensor
) -> tuple[Tensor, Tensor]:
    """Expected mean IoU over all combinations of independent states.

    The IoU of a pair of maps is (sum of the flips' IoUs) / (number of present
    classes). The sum adds up flip by flip, only the division couples them; so
    go through the flips once and keep, for each number of present classes so
    far, its probability and the expected sum of IoUs together with it.

    Args:
        prob: Probability of each state of each flip, (n, states).
        iou: Sum of the IoUs of class and twin per state, (n, states, ...).
        count: How many of the two are present, 0 to 2, same shape.

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


def _flip_terms(
    samples: Tensor,
    labels: Tensor,
    flips: ClassFlips,
    how: Comparison,
    sample_weights: Tensor | None,
    label_weights: Tensor | None,
) -> EnergyTerms:
    """The terms of one image whose label (1, H, W) flips.

    In any of the 2^n modes, a pair (class, twin) looks as in the base label
    or as in the label with everything flipped: these two maps are enough. The
    cost beyond counting pixels is O(S n^2).
    """
    if len(labels) != 1 or label_weights is not None:
        raise UserError(
            'labels: class flips need one base label without weights, got '
            f'{tuple(labels.shape)}'
        )
    both = torch.cat([labels, flips.flip_all(labels)])
    # Class and twin of a flip are next to each other.
    table = joint_class_ious(samples, both, replace(how, classes=flips.ids))
    n, s = len(flips), len(samples)
    p = table.iou.new_tensor([p for _, _, p in flips])
    prob = torch.stack([1 - p, p], 1)  # (n, 2): base, flipped
    iou = table.iou.unflatten(0, (n, 2)).sum(1)  # (n, S + 2, S + 2)
    count = table.present.unflatten(0, (n, 2)).sum(1)

    across = (x[:, :s, s:].transpose(1, 2) for x in (iou, count))  # (n, 2, S)
    cross, weight = _sum_over_states(prob, *across)
    inside = (x[:, s:, s:].flatten(1) for x in (iou, count))  # (n, 4)
    pairs = (prob[:, :, None] * prob[:, None]).flatten(1)
    within, within_weight = _sum_over_states(pairs, *inside)
    among = table.mean('skip')[:s, :s]
    w = sample_weights
    if w is not None:
        cross, weight = cross * w, weight * w
    return EnergyTerms(
        1 - cross.sum() / weight.sum(),
        expected_distance(among, w, w),
        1 - within / within_weight,
    )
