"""Calibration of pixelwise probabilities, as sums that can be streamed.

Several labels of one image are several observations of each pixel. Where the
probability of a label is known (class flips), it is the observation's weight.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ...structures import Flip
from .flips import check_flips, flip_all
from .inputs import check_maps, check_same_size


def entropy(probs: Tensor) -> Tensor:
    """Entropy in nats per pixel: (..., K, H, W) -> (..., H, W)."""
    return torch.special.entr(probs).sum(-3)


def flip_observations(
    label: Tensor, flips: Sequence[Flip]
) -> tuple[Tensor, Tensor]:
    """The two labels that a pixel can have, and their probabilities.

    Args:
        label: Base label, shape (H, W).
        flips: Entries (class, twin, probability).

    Returns:
        Labels and weights, both (2, H, W): base, flipped.
    """
    flipped = torch.zeros(label.shape, dtype=torch.float64).to(label.device)
    for c, _, p in flips:
        flipped[label == c] = p
    return (
        torch.stack([label, flip_all(label, flips)]),
        torch.stack([1 - flipped, flipped]),
    )


def _check(
    probs: Tensor, labels: Tensor, weights: Tensor | None, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Return labels (A, H, W) int64, ignored ones 0, and their weights."""
    if not probs.is_floating_point() or probs.dim() != 3:
        raise ValueError(
            'probs: expected floats of shape (K, H, W), got '
            f'{probs.dtype} {tuple(probs.shape)}'
        )
    if not (probs.min() >= -1e-5 and probs.max() <= 1 + 1e-5):
        raise ValueError(
            'probs: expected probabilities in [0, 1], found '
            f'{probs.min():.3g} to {probs.max():.3g}; not logits'
        )
    labels = labels.to(probs.device)
    labels = labels[None] if labels.dim() == 2 else labels
    check_maps('labels', labels, len(probs), ignore_index)
    check_same_size(probs=probs, labels=labels)
    valid = labels != ignore_index
    if weights is None:
        weights = torch.ones(labels.shape, dtype=torch.float64)
    elif weights.shape != labels.shape:
        raise ValueError(
            f'weights: expected the shape of labels {tuple(labels.shape)}, '
            f'got {tuple(weights.shape)}'
        )
    weights = weights.to(probs.device, torch.float64) * valid
    return labels.long().masked_fill(~valid, 0), weights


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
            raise ValueError(f'num_bins: expected at least 1, got {num_bins}')
        self.num_bins = num_bins
        self.ignore_index = ignore_index
        self.sums = torch.zeros(3, num_bins, dtype=torch.float64)

    @torch.no_grad()
    def update(
        self, probs: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> None:
        """Add the pixels of one image, or of N with a leading dimension.

        Args:
            probs: Class probabilities, shape (K, H, W).
            labels: One map (H, W) or several (A, H, W); each counts.
            weights: Weight of every observation, (A, H, W); None is 1.
        """
        if probs.dim() == 4:
            every = weights if weights is not None else [None] * len(probs)
            for p, y, w in zip(probs, labels, every, strict=True):
                self.update(p, y, w)
            return
        labels, weights = _check(probs, labels, weights, self.ignore_index)
        confidence, decision = probs.max(0)
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
    """Sums of proper scores over observations; scalars, float64."""

    count: Tensor
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
        probs: Class probabilities, shape (K, H, W).
        labels: One map (H, W) or several (A, H, W); each counts.
        weights: Weight of every observation, (A, H, W); None is 1.
        ignore_index: Label id that is no observation.
        eps: Smallest probability that the logarithm sees.
    """
    labels, weights = _check(probs, labels, weights, ignore_index)
    probs = probs.double()
    of_label = probs.gather(0, labels)  # (A, H, W)
    brier = probs.square().sum(0) - 2 * of_label + 1
    nll = -of_label.clamp(min=eps).log()
    return ScoreSums(
        weights.sum(), (weights * brier).sum(), (weights * nll).sum()
    )


def brier_score(
    probs: Tensor, labels: Tensor, *, ignore_index: int = 255
) -> Tensor:
    """Mean over observations of ``sum_k (p_k - [label = k])^2``, in [0, 2].

    Args:
        probs: Class probabilities, shape (K, H, W).
        labels: One map (H, W) or several (A, H, W); each counts.
        ignore_index: Label id that is no observation.
    """
    sums = score_sums(probs, labels, ignore_index=ignore_index)
    return sums.brier / sums.count


def negative_log_likelihood(
    probs: Tensor,
    labels: Tensor,
    *,
    ignore_index: int = 255,
    eps: float = 1e-12,
) -> Tensor:
    """Mean over observations of ``-log p_label``; see :func:`brier_score`."""
    sums = score_sums(probs, labels, ignore_index=ignore_index, eps=eps)
    return sums.nll / sums.count


@torch.no_grad()
def flip_probability_sums(
    probs: Tensor,
    label: Tensor,
    *,
    flips: Sequence[Flip],
    mask: Tensor | None = None,
) -> Tensor:
    """What a model says of each twin where the label has its class.

    Args:
        probs: Class probabilities, shape (K, H, W).
        label: Base label, shape (H, W).
        flips: The n entries (class, twin, probability).
        mask: Pixels to use, (H, W) bool; None is all. For a calibration net
            on a black box: where the black box agrees with the label.

    Returns:
        Shape (n, 2), float64: sum of the twin's probability, number of
        pixels. Add them over images, then call :func:`flip_offsets`.
    """
    flips = check_flips(flips, len(probs))
    check_same_size(probs=probs, label=label)
    rows = []
    for c, twin, _ in flips:
        where = label == c
        where = where if mask is None else where & mask
        rows.append(
            torch.stack([probs[twin][where].double().sum(), where.sum()])
        )
    return torch.stack(rows)


def flip_offsets(sums: Tensor, flips: Sequence[Flip]) -> Tensor:
    """Calibration offset |true - predicted probability| of every twin.

    Args:
        sums: Shape (n, 2) from :func:`flip_probability_sums`.
        flips: The n entries (class, twin, probability).

    Returns:
        Shape (n,); NaN for a class without pixels.
    """
    true = sums.new_tensor([p for _, _, p in flips])
    return (true - sums[:, 0] / sums[:, 1]).abs()
