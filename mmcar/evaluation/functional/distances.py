"""Distance of samples and labels: generalized energy distance and HM-IoU.

Where classes of labels flip at random by a known table, the former is the
distance to all that a label can become.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported when they are used
import torch
from torch import Tensor
from typing_extensions import Unpack

from ...structures import ClassFlips
from ...utils.errors import UserError
from ...utils.matching import match_repeated
from .inputs import Maps, per_image
from .iou import Comparison, PairOptions, cross_class_ious, joint_class_ious


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


class EnergyOptions(PairOptions, total=False):
    """Keywords of `ged`."""

    sample_weights: Maps | None
    label_weights: Maps | None
    flips: Iterable[Sequence] | None
    num_samples: int | None


def ged(
    samples: Maps, labels: Maps, **options: Unpack[EnergyOptions]
) -> Tensor:
    """``2 E d(s, y) - E d(s, s') - E d(y, y')`` with d = 1 - IoU.

    Every expectation runs over all pairs, a map with itself included. Pairs
    without an IoU (no labelled pixel to compare, or ``absent='skip'`` and no
    class in either map) are left out of their expectation, whose weights are
    renormalised.

    Args:
        samples: Integer label maps, shape (N, S, H, W) or (S, H, W).
        labels: Integer label maps, shape (N, A, H, W) or (A, H, W).
        options: Those of :class:`Comparison`, of which ``num_classes`` is
            needed. ``sample_weights`` (S,) or (N, S), what each sample
            counts, as those of support points, and ``label_weights`` (A,) or
            (N, A), probabilities of the labels; None is uniform. ``flips``,
            a table of class flips, or its rows (class, twin, probability):
            each of its n classes turns as a whole into its twin,
            independently. The distance is then to all 2^n modes of the one
            label (A = 1), without building them; the IoU of a pair is
            averaged over those classes of the table that occur in it.
            ``num_samples`` S, to make sure that the axes are in this order.

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
    return ged_terms(samples, labels, **options).ged


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
            "flip, those of the table count; delete 'classes' and 'absent'"
        )

    def terms(
        x: Tensor, y: Tensor, v: Tensor | None, w: Tensor | None
    ) -> EnergyTerms:
        if table:
            return _flip_terms(x, y, table, how, v, w)
        iou, s = joint_class_ious(x, y, how).mean(how.rule), len(x)
        parts = (iou[:s, s:], v, w), (iou[:s, :s], v, v), (iou[s:, s:], w, w)
        return EnergyTerms(*(expected_distance(*part) for part in parts))

    return per_image(
        terms, samples, labels, sample_weights, label_weights, num_samples
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


# Up to this size an assignment of the repeated sets is faster.
_MAX_REPEATED = 128


def _transport(
    scores: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> float:
    """Best total score if every row is used so many times, etc.

    Args:
        scores: Shape (N, M).
        rows: How often every row is used (N,), not always whole times.
        columns: How often every column is used (M,), the same in total.
    """
    n, m = scores.shape
    sums = scipy.sparse.vstack(
        [
            scipy.sparse.kron(scipy.sparse.eye(n), np.ones((1, m))),
            scipy.sparse.kron(np.ones((1, n)), scipy.sparse.eye(m)),
        ]
    )
    needed = np.concatenate([rows, columns])
    plan = scipy.optimize.linprog(-scores.ravel(), A_eq=sums, b_eq=needed)
    if not plan.success:
        raise RuntimeError(f'transport problem not solved: {plan.message}')
    return float(-plan.fun)


def matched_iou_from_iou(
    iou: Tensor, sample_weights: Tensor | None = None
) -> Tensor:
    """Mean IoU of the best 1:1 matching, sets repeated to equal size.

    Args:
        iou: Samples against labels, shape (S, A).
        sample_weights: What each sample counts (S,); None is uniform.

    Returns:
        Scalar; NaN if some pair has no IoU, or there is no label.
    """
    if not iou.numel() or iou.isnan().any():
        return iou.new_tensor(math.nan)
    scores = iou.cpu().numpy()
    number, labels = scores.shape
    if sample_weights is not None:
        rows = (sample_weights / sample_weights.sum()).cpu().numpy()
        share = np.full(labels, 1 / labels)
        return iou.new_tensor(_transport(scores, rows, share))
    size = math.lcm(number, labels)
    if size <= max(_MAX_REPEATED, *scores.shape):
        total = scores[match_repeated(scores)].sum()
    else:
        rows, columns = (np.full(n, size // n) for n in (number, labels))
        total = _transport(scores, rows, columns)
    return iou.new_tensor(total / size)


@torch.no_grad()
def hm_iou(
    samples: Maps,
    labels: Maps,
    *,
    sample_weights: Maps | None = None,
    num_samples: int | None = None,
    **options: Unpack[PairOptions],
) -> Tensor:
    """Mean IoU of the best 1:1 matching of samples and labels (HM-IoU).

    Both sets are repeated to the least common multiple of their sizes. Where
    that is large, the same value comes from a transport problem on the
    (S, A) matrix. A label without a labelled pixel is left out.

    Args:
        samples: Integer label maps, shape (N, S, H, W) or (S, H, W).
        labels: Integer label maps, shape (N, A, H, W) or (A, H, W).
        sample_weights: What each sample counts, shape (S,) or (N, S): so
            much of it is matched; None is uniform.
        num_samples: S, to make sure that the axes are in this order.
        options: See :class:`Comparison`; ``num_classes`` is needed.

    Returns:
        Shape (N,), or a scalar; NaN where another pair has no IoU, or no
        label is left.

    Example:
        >>> import mmcar, torch
        >>> labels = torch.tensor([[[0, 0, 1, 1]], [[1, 1, 0, 0]]])
        >>> samples = labels[[0, 0, 0, 1]]
        >>> mmcar.hm_iou(samples, labels, num_classes=2).item()
        0.75
    """
    how = Comparison(**options)

    def matched(s: Tensor, y: Tensor, w: Tensor | None, _: None) -> Tensor:
        table = cross_class_ious(s, y, how)
        return matched_iou_from_iou(table.labelled_mean(how.rule), w)

    return per_image(
        matched, samples, labels, sample_weights, num_samples=num_samples
    )


def matching_scores(
    samples: Tensor,
    labels: Tensor,
    counts: Sequence[int],
    how: Comparison,
    sample_weights: Tensor | None = None,
) -> dict[str, float]:
    """``HM-IoU_n`` and ``D_max_n`` of the first n samples, for several n.

    Args:
        samples: Label maps (S, H, W).
        labels: Label maps (A, H, W).
        counts: The n, at most S.
        how: See :class:`Comparison`.
        sample_weights: See `hm_iou`.
    """
    iou = cross_class_ious(samples, labels, how).labelled_mean(how.rule)
    scores = {}
    for n in counts:
        weights = None if sample_weights is None else sample_weights[:n]
        matched = matched_iou_from_iou(iou[:n], weights)
        scores[f'HM-IoU_{n}'] = matched.item()
        scores[f'D_max_{n}'] = best_match_from_iou(iou[:n]).nanmean().item()
    return scores


def best_match_from_iou(iou: Tensor) -> Tensor:
    """Largest IoU per label: (S, A) -> (A,), NaN if it has none."""
    best = iou.nan_to_num(-1).amax(0)
    return best.masked_fill(best < 0, math.nan)


@torch.no_grad()
def best_match_iou(
    samples: Maps, labels: Maps, **options: Unpack[PairOptions]
) -> Tensor:
    """IoU of every label with the sample nearest to it; its mean is D_max.

    Takes what :func:`hm_iou` takes. With one sample it is the IoU of a
    decision with every label.

    Returns:
        Shape (N, A) or (A,); NaN for a label without any IoU.
    """
    how = Comparison(**options)

    def best(s: Tensor, y: Tensor, *_: None) -> Tensor:
        return best_match_from_iou(cross_class_ious(s, y, how).mean(how.rule))

    return per_image(best, samples, labels)
