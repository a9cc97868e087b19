"""Calibration of pixelwise probabilities, as sums that can be streamed.

Several labels of one image are several observations of each pixel; where the
probability of a label is known, it is the observation's weight.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ...sampling.kernels import class_argmax
from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import check_maps, check_probs, check_same_size, join_images


@torch.no_grad()
def entropy(probs: Tensor) -> Tensor:
    """Entropy in nats per pixel: (..., K, H, W) -> (..., H, W)."""
    check_probs(probs)
    return torch.special.entr(probs).sum(-3)


class Observations(NamedTuple):
    """What annotators say of the pixels of one image, checked.

    Attributes:
        probs: Class probabilities (K, H, W).
        labels: Shape (A, H, W), int64, ignored ones 0.
        weights: Shape (A, H, W), float64, of ignored ones 0.
    """

    probs: Tensor
    labels: Tensor
    weights: Tensor


def observe(
    probs: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    ignore_index: int = 255,
) -> Observations:
    """Check probabilities (K, H, W) and the labels and weights of an image.

    Args:
        probs: Class probabilities (K, H, W).
        labels: One map (H, W) or several (A, H, W).
        weights: Weight of every observation (A, H, W); None is 1.
        ignore_index: Label id that is no observation.
    """
    check_probs(probs)
    labels = labels[None] if labels.ndim == 2 else labels
    check_maps('labels', labels, len(probs), ignore_index)
    check_same_size(probs=probs, labels=labels)
    labels = labels.to(probs.device)
    valid = ~has_id(labels, ignore_index)
    if weights is None:
        weights = valid.double()
    elif weights.shape != labels.shape:
        raise UserError(
            f'weights: expected the shape of labels {tuple(labels.shape)}, '
            f'got {tuple(weights.shape)}'
        )
    else:
        weights = weights.to(probs.device, torch.float64) * valid
    return Observations(probs, labels.long() * valid, weights)


def _images(
    probs: Tensor, labels: Tensor, weights: Tensor | None
) -> list[tuple[Tensor, Tensor, Tensor | None]]:
    """Split an optional leading image dimension off."""
    if probs.ndim != 4:
        return [(probs, labels, weights)]
    every = [None] * len(probs) if weights is None else weights
    if not len(probs) == len(labels) == len(every) > 0:
        raise UserError(
            'expected the same leading image dimension, got probs '
            f'{tuple(probs.shape)}, labels {tuple(labels.shape)}'
            + ('' if weights is None else f', weights {tuple(weights.shape)}')
        )
    return list(zip(probs, labels, every, strict=True))


class CalibrationBins:
    """Reliability of the most probable class, in bins of its probability.

    Bin b of n holds the pixels with a confidence in [b / n, (b + 1) / n); a
    confidence of 1 belongs to the last. Memory does not grow with the data.

    Args:
        num_bins: Number of bins.
        ignore_index: Label id that is no observation.

    Attributes:
        sums: Shape (3, num_bins), float64, on the CPU: number of
            observations, sum of confidences, number of hits. Adding them is
            merging; they are all there is to save or send.
    """

    def __init__(self, num_bins: int = 10, ignore_index: int = 255) -> None:
        if num_bins < 1:
            raise UserError(f'num_bins: expected at least 1, got {num_bins}')
        self.num_bins = num_bins
        self.ignore_index = ignore_index
        self.sums = torch.zeros(3, num_bins, dtype=torch.float64)

    @torch.no_grad()
    def update(
        self, probs: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> None:
        """Add the pixels of one image, or of N with a leading dimension.

        Args:
            probs: Class probabilities, shape ([N,] K, H, W).
            labels: One map ([N,] H, W) or several ([N,] A, H, W); each
                counts.
            weights: Weight of every observation, ([N,] A, H, W); None is 1.
        """
        for image in _images(probs, labels, weights):
            self.add(observe(*image, self.ignore_index))

    def add(self, observed: Observations) -> None:
        """Add the pixels of an image that was checked."""
        probs, labels, weights = observed
        confidence, decision = probs.amax(0), class_argmax(probs[None])[0]
        edges = torch.linspace(0, 1, self.num_bins + 1).to(probs)
        index = torch.bucketize(confidence, edges, right=True) - 1
        index = index.clamp(0, self.num_bins - 1).flatten()
        count = weights.sum(0)
        hits = (weights * (labels == decision)).sum(0)
        rows = (count, count * confidence, hits)
        self.sums += torch.stack(
            [
                torch.bincount(index, row.flatten(), self.num_bins)
                for row in rows
            ]
        ).cpu()

    @property
    def count(self) -> Tensor:
        """Observations per bin, (num_bins,)."""
        return self.sums[0]

    @property
    def confidence(self) -> Tensor:
        """Mean confidence per bin, NaN if empty, (num_bins,)."""
        return self.sums[1] / self.sums[0]

    @property
    def accuracy(self) -> Tensor:
        """Share of hits per bin, NaN if empty, (num_bins,)."""
        return self.sums[2] / self.sums[0]

    @property
    def ece(self) -> Tensor:
        """Expected calibration error: mean gap, weighted by counts."""
        return (self.sums[1] - self.sums[2]).abs().sum() / self.sums[0].sum()

    @property
    def mce(self) -> Tensor:
        """Maximum calibration error: largest gap of a bin that has pixels."""
        gap = (self.confidence - self.accuracy).abs()
        filled = self.count > 0
        return gap[filled].max() if filled.any() else self.ece


class ScoreSums(NamedTuple):
    """Sums of proper scores over observations, float64: scalars or (N,)."""

    number: Tensor
    brier: Tensor
    nll: Tensor


@torch.no_grad()
def score_sums(
    probs: Tensor,
    labels: Tensor,
    *,
    weights: Tensor | None = None,
    ignore_index: int = 255,
    eps: float = 1e-12,
) -> ScoreSums:
    """Sums of the Brier score and the negative log-likelihood of an image.

    Args:
        probs: Class probabilities, shape ([N,] K, H, W).
        labels: One map ([N,] H, W) or several ([N,] A, H, W); each counts.
        weights: Weight of every observation, ([N,] A, H, W); None is 1.
        ignore_index: Label id that is no observation.
        eps: Smallest probability that the logarithm sees.
    """
    rows = [
        sum_scores(observe(*image, ignore_index), eps)
        for image in _images(probs, labels, weights)
    ]
    return join_images(rows, probs)


def sum_scores(observed: Observations, eps: float = 1e-12) -> ScoreSums:
    """The same of an image that was checked."""
    probs, labels, weights = observed
    of_label = probs.gather(0, labels).double()  # (A, H, W)
    squares = torch.zeros_like(of_label[0])
    for p in probs:  # class by class, it stays in the cache
        p = p.double()
        squares.addcmul_(p, p)
    brier = squares - 2 * of_label + 1
    nll = -of_label.clamp(min=eps).log()
    return ScoreSums(
        weights.sum(), (weights * brier).sum(), (weights * nll).sum()
    )


def brier_score(
    probs: Tensor, labels: Tensor, *, ignore_index: int = 255
) -> Tensor:
    """Mean over observations of ``sum_k (p_k - [label = k])^2``, in [0, 2].

    Args:
        probs: Class probabilities, shape ([N,] K, H, W).
        labels: One map ([N,] H, W) or several ([N,] A, H, W); each counts.
        ignore_index: Label id that is no observation.

    Returns:
        Scalar, or shape (N,); NaN without any observation.
    """
    sums = score_sums(probs, labels, ignore_index=ignore_index)
    return sums.brier / sums.number


def negative_log_likelihood(
    probs: Tensor,
    labels: Tensor,
    *,
    ignore_index: int = 255,
    eps: float = 1e-12,
) -> Tensor:
    """Mean over observations of ``-log p_label``; see :func:`brier_score`."""
    sums = score_sums(probs, labels, ignore_index=ignore_index, eps=eps)
    return sums.nll / sums.number


@torch.no_grad()
def class_area_sums(
    probs: Tensor,
    labels: Tensor,
    *,
    weights: Tensor | None = None,
    ignore_index: int = 255,
) -> Tensor:
    """Expected and labelled area of each class in one image.

    Over all observations: a pixel counts once per label that has it, with
    the weight of that label. Of a calibrated model both areas are equal.

    Args:
        probs: Class probabilities (K, H, W).
        labels: One map (H, W) or several (A, H, W).
        weights: Weight of every observation (A, H, W); None is 1.
        ignore_index: Label id that is no observation.

    Returns:
        Shape (2, K), float64, on the CPU: expected, labelled. Add them over
        images.
    """
    _, ids, weights = observe(probs, labels, weights, ignore_index)
    count = weights.sum(0)  # (H, W)
    expected = (probs.double() * count).sum((1, 2))
    labelled = torch.bincount(ids.flatten(), weights.flatten(), len(probs))
    return torch.stack([expected, labelled]).cpu()
