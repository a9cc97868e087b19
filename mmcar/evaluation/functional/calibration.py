"""Calibration of pixelwise probabilities, as sums that can be streamed.

Several labels of one image are several observations of each pixel; where the
probability of a label is known, as where classes flip by a table, it is the
observation's weight.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ...sampling.kernels import class_argmax, row_blocks
from ...structures import ClassFlips
from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import (
    Maps,
    check_maps,
    check_probs,
    check_same_size,
    split_images,
)

#: Least probability of which a logarithm is taken.
SMALLEST = 1e-12


@torch.no_grad()
def entropy(probs: Tensor) -> Tensor:
    """Entropy in nats per pixel: (..., K, H, W) -> (..., H, W)."""
    check_probs(probs)
    return torch.special.entr(probs).sum(-3)


def _observe(
    ignore_index: int, probs: Tensor, labels: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Check what annotators say of the pixels of an image.

    Returns:
        Probabilities (K, H, W); labels (A, H, W), int64, ignored ones 0; and
        weights (A, H, W), float64, of ignored ones 0.
    """
    check_probs(probs)
    check_maps('labels', labels, len(probs), ignore_index)
    check_same_size(probs=probs, labels=labels)
    if ((probs.sum(0) - 1).abs() > 0.01).any():
        raise UserError(
            'probs: expected probabilities that add up to 1 over classes, '
            'dimension 1 of (images, classes, height, width)'
        )
    labels = labels.to(probs.device)
    valid = ~has_id(labels, ignore_index)
    if weights is None:
        weights = valid.double()
    elif (
        weights.shape != labels.shape
        or not ((weights >= 0) & weights.isfinite()).all()
    ):
        raise UserError(
            'weights: expected finite numbers >= 0 of the shape of labels '
            f'{tuple(labels.shape)}, got a shape {tuple(weights.shape)}'
        )
    else:
        weights = weights.to(probs.device, torch.float64) * valid
    return probs, labels.long() * valid, weights


class CalibrationBins:
    """Reliability of the most probable class, and proper scores.

    Bin b of n holds the pixels with a confidence in [b / n, (b + 1) / n); a
    confidence of 1 belongs to the last. Memory does not grow with the data.

    Args:
        num_bins: Number of bins.
        ignore_index: Label id that is no observation.

    Attributes:
        sums: Shape (3, num_bins), float64, on the CPU: number of
            observations, sum of confidences, number of hits.
        scores: Shape (3,), likewise: number of observations, sums of Brier
            scores and of negative log-likelihoods. Adding both is merging;
            they are all there is to save or send.
    """

    def __init__(self, num_bins: int = 10, ignore_index: int = 255) -> None:
        at_least(1, num_bins=num_bins)
        self.num_bins = num_bins
        self.ignore_index = ignore_index
        self.sums = torch.zeros(3, num_bins, dtype=torch.float64)
        self.scores = torch.zeros(3, dtype=torch.float64)

    @torch.no_grad()
    def update(
        self, probs: Maps, labels: Maps, weights: Maps | None = None
    ) -> None:
        """Add the pixels of N images, or of one.

        Args:
            probs: Class probabilities, shape ([N,] K, H, W).
            labels: Label maps ([N,] A, H, W); each counts.
            weights: Weight of every observation, ([N,] A, H, W); None is 1.
        """
        for image in split_images(probs=probs, labels=labels, weights=weights):
            observed = _observe(self.ignore_index, *image)
            self.sums += self._binned(*observed).cpu()
            self.scores += _proper_scores(*observed).cpu()

    def _binned(
        self, probs: Tensor, labels: Tensor, weights: Tensor
    ) -> Tensor:
        """What an image adds to `sums`."""
        confidence, decision = probs.amax(0), class_argmax(probs[None])[0]
        edges = torch.linspace(0, 1, self.num_bins + 1).to(probs)
        index = torch.bucketize(confidence, edges, right=True) - 1
        index = index.clamp(0, self.num_bins - 1).flatten()
        count = weights.sum(0)
        hits = (weights * (labels == decision)).sum(0)
        rows = (count, count * confidence, hits)
        return torch.stack(
            [torch.bincount(index, r.flatten(), self.num_bins) for r in rows]
        )

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

    @property
    def brier(self) -> Tensor:
        """Mean of ``sum_k (p_k - [label = k])^2``, in [0, 2]."""
        return self.scores[1] / self.scores[0]

    @property
    def nll(self) -> Tensor:
        """Mean of ``-log p_label``, in nats."""
        return self.scores[2] / self.scores[0]

    def figures(self) -> dict[str, Tensor]:
        """All four scores by name."""
        return dict(ECE=self.ece, MCE=self.mce, Brier=self.brier, NLL=self.nll)


def _proper_scores(probs: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Number of observations, sums of Brier score and NLL, (3,) float64."""
    of_label = probs.gather(0, labels).double()  # (A, H, W)
    squares = torch.zeros_like(of_label[0])
    for p in probs:  # class by class, it stays in the cache
        p = p.double()
        squares.addcmul_(p, p)
    brier = squares - 2 * of_label + 1
    nll = -of_label.clamp(min=SMALLEST).log()
    rows = weights, weights * brier, weights * nll
    return torch.stack([row.sum() for row in rows])


def calibration(
    probs: Maps,
    labels: Maps,
    *,
    weights: Maps | None = None,
    num_bins: int = 10,
    ignore_index: int = 255,
) -> CalibrationBins:
    """ECE, MCE, Brier score, NLL and reliability over all pixels together.

    Args:
        probs: Class probabilities, shape (N, K, H, W) or (K, H, W).
        labels: Label maps (N, A, H, W) or (A, H, W); each counts.
        weights: Weight of every observation, as labels; None is 1.
        num_bins: Number of bins of the confidence.
        ignore_index: Label id that is no observation.

    Returns:
        Its ``ece``, ``mce``, ``brier`` and ``nll`` are scalars, NaN without
        any observation; ``count``, ``confidence`` and ``accuracy`` (num_bins,)
        are the reliability diagram. `update` adds more images.

    Example:
        >>> import mmcar, torch
        >>> probs = torch.tensor([0.25, 0.75]).view(2, 1, 1).expand(2, 1, 4)
        >>> found = mmcar.calibration(probs, torch.tensor([[[0, 1, 1, 255]]]))
        >>> found.ece.item(), found.brier.item()
        (0.0833..., 0.4583...)
    """
    bins = CalibrationBins(num_bins, ignore_index)
    bins.update(probs, labels, weights)
    return bins


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
        labels: Label maps (A, H, W).
        weights: Weight of every observation (A, H, W); None is 1.
        ignore_index: Label id that is no observation.

    Returns:
        Shape (2, K), float64, on the CPU: expected, labelled. Add them over
        images.
    """
    sums = torch.zeros(2, len(probs)).double()
    for rows in row_blocks(labels.shape[1:]):  # they may be large
        own = None if weights is None else weights[:, rows]
        part, ids, own = _observe(
            ignore_index, probs[:, rows], labels[:, rows], own
        )
        expected = (part.double() * own.sum(0)).sum((1, 2))
        labelled = torch.bincount(ids.flatten(), own.flatten(), len(probs))
        sums += torch.stack([expected, labelled]).cpu()
    return sums


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
        probs: Class probabilities of an image (K, H, W).
        label: Base label (H, W).
        flips: A table of n rows, or its rows (class, twin, probability).
        mask: Pixels to use, (H, W) bool; None is all. For a calibration
            net on a black box: where the black box agrees with the label.
        ignore_index: Label id that is no observation.

    Returns:
        Shape (n, 2), float64: sum of the twin's probability, number of
        pixels. Add them over images, then call :func:`flip_offsets`.
    """
    check_probs(probs)
    table = ClassFlips.parse(flips, len(probs))
    check_maps('label', label[None], len(probs), ignore_index)
    check_same_size(probs=probs, label=label)
    seen = ~has_id(label, ignore_index)
    seen = seen if mask is None else seen & mask
    rows = []
    for c, twin, _ in table:
        where = has_id(label, c) & seen
        said = (probs[twin].double() * where).sum()
        rows.append(torch.stack([said, where.sum()]))
    return torch.stack(rows)


def flip_offsets(sums: Tensor, flips: Iterable[Sequence]) -> Tensor:
    """Calibration offset ``|true - predicted probability|`` of every twin.

    Args:
        sums: Shape (n, 2) from :func:`flip_probability_sums`.
        flips: A table of n rows, or its rows (class, twin, probability).

    Returns:
        Shape (n,); NaN for a class without pixels.
    """
    true = sums.new_tensor([p for _, _, p in flips])
    return (true - sums[:, 0] / sums[:, 1]).abs()
