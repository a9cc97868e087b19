"""Matching of samples and labels: HM-IoU, best matches."""

import math

import numpy as np
import scipy  # its parts are imported when they are used
import torch
from torch import Tensor
from typing_extensions import Unpack

from ...utils.matching import match_repeated
from .inputs import Maps, per_image
from .iou import Comparison, PairOptions, cross_class_ious

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
