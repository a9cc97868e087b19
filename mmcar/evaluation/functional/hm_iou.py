"""Matching of samples and labels: HM-IoU, best matches, diversity."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy import optimize, sparse
from torch import Tensor
from typing_extensions import Unpack

from ...utils.errors import UserError
from ...utils.matching import match_repeated
from .ged import expected_distance
from .inputs import check_maps, per_image
from .iou import PairOptions, cross_class_ious, pairwise_iou

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
    sums = sparse.vstack(
        [
            sparse.kron(sparse.eye(n), np.ones((1, m))),
            sparse.kron(np.ones((1, n)), sparse.eye(m)),
        ]
    )
    needed = np.concatenate([rows, columns])
    plan = optimize.linprog(-scores.ravel(), A_eq=sums, b_eq=needed)
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
def hungarian_matched_iou(
    samples: Tensor,
    labels: Tensor,
    *,
    absent: str = 'skip',
    sample_weights: Tensor | None = None,
    **options: Unpack[PairOptions],
) -> Tensor:
    """Mean IoU of the best 1:1 matching of samples and labels (HM-IoU).

    Both sets are repeated to the least common multiple of their sizes. Where
    that is large, the same value comes from a transport problem on the
    (S, A) matrix. A label without a labelled pixel is left out.

    Args:
        samples: Integer label maps, shape (S, H, W) or (N, S, H, W).
        labels: Integer label maps, shape (A, H, W) or (N, A, H, W).
        absent: What a class missing from both maps counts: 'skip' leaves it
            out of the mean, 'one' counts it as IoU 1.
        sample_weights: What each sample counts, shape (S,) or (N, S): so
            much of it is matched; None is uniform.
        options: See :class:`PairOptions`.

    Returns:
        Scalar, or shape (N,); NaN where another pair has no IoU, or no label
        is left.
    """

    def matched(s: Tensor, y: Tensor, w: Tensor | None = None) -> Tensor:
        table = cross_class_ious(s, y, **options)
        return matched_iou_from_iou(table.labelled_mean(absent), w)

    return per_image(matched, samples, labels, sample_weights)


def best_match_from_iou(iou: Tensor) -> Tensor:
    """Largest IoU per label: (S, A) -> (A,), NaN if it has none."""
    best = iou.nan_to_num(-1).amax(0)
    return best.masked_fill(best < 0, math.nan)


@torch.no_grad()
def best_match_iou(
    samples: Tensor,
    labels: Tensor,
    *,
    absent: str = 'skip',
    **options: Unpack[PairOptions],
) -> Tensor:
    """IoU of every label with the sample nearest to it; its mean is D_max.

    Takes what :func:`hungarian_matched_iou` takes.

    Returns:
        Shape (A,) or (N, A); NaN for a label without any IoU.
    """

    def best(s: Tensor, y: Tensor) -> Tensor:
        table = cross_class_ious(s, y, **options)
        return best_match_from_iou(table.mean(absent))

    return per_image(best, samples, labels)


@torch.no_grad()
def sample_diversity(
    samples: Tensor,
    *,
    num_classes: int,
    classes: Sequence[int] | None = None,
    absent: str = 'skip',
    sample_weights: Tensor | None = None,
) -> Tensor:
    """E d(s, s') over all pairs of samples, a sample with itself included.

    Args:
        samples: Integer label maps, shape (S, H, W) or (N, S, H, W).
        num_classes: Number of classes K; ids are 0 .. K - 1.
        classes: Ids that the IoU is averaged over; None is all.
        absent: As in :func:`pairwise_iou`.
        sample_weights: What each sample counts, shape (S,) or (N, S); None is
            uniform.

    Returns:
        Scalar, or shape (N,).
    """

    def diversity(s: Tensor, _: Tensor, w: Tensor | None = None) -> Tensor:
        check_maps('samples', s, num_classes)
        iou = pairwise_iou(
            s,
            s,
            num_classes=num_classes,
            classes=classes,
            ignore_index=-1,  # no id that a sample can have
            absent=absent,
        )
        return expected_distance(iou, w, w)

    return per_image(diversity, samples, samples, sample_weights)


def decision_iou(
    decision: Tensor,
    labels: Tensor,
    *,
    absent: str = 'skip',
    **options: Unpack[PairOptions],
) -> Tensor:
    """IoU of one decision with every label of its image.

    Args:
        decision: Integer label map, shape (H, W) or (N, H, W).
        labels: Integer label maps, shape (A, H, W) or (N, A, H, W).
        absent: As in :func:`pairwise_iou`.
        options: See :class:`PairOptions`.

    Returns:
        Shape (A,) or (N, A); NaN for a label without an IoU.
    """
    if decision.ndim not in (2, 3):
        raise UserError(
            'decision: expected shape (H, W) or (N, H, W), got '
            f'{tuple(decision.shape)}'
        )
    samples = decision.unsqueeze(-3)
    return best_match_iou(samples, labels, absent=absent, **options)
