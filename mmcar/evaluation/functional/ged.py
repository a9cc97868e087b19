"""Generalized energy distance between samples and labels."""

from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import Unpack

from .inputs import image_weights, join_images, split_images
from .iou import PairOptions, joint_class_ious


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


@torch.no_grad()
def energy_distance_terms(
    samples: Tensor,
    labels: Tensor,
    *,
    absent: str = 'skip',
    label_weights: Tensor | None = None,
    sample_weights: Tensor | None = None,
    **options: Unpack[PairOptions],
) -> EnergyTerms:
    """The three terms of :func:`generalized_energy_distance`; same inputs."""
    pairs = split_images(samples, labels)
    of_samples = image_weights('sample_weights', sample_weights, samples)
    of_labels = image_weights('label_weights', label_weights, labels)
    terms = []
    for (maps, own), v, w in zip(pairs, of_samples, of_labels, strict=True):
        iou = joint_class_ious(maps, own, **options).mean(absent)
        s = len(maps)
        terms.append(
            EnergyTerms(
                expected_distance(iou[:s, s:], v, w),
                expected_distance(iou[:s, :s], v, v),
                expected_distance(iou[s:, s:], w, w),
            )
        )
    return join_images(terms, samples)


def generalized_energy_distance(
    samples: Tensor,
    labels: Tensor,
    *,
    absent: str = 'skip',
    label_weights: Tensor | None = None,
    sample_weights: Tensor | None = None,
    **options: Unpack[PairOptions],
) -> Tensor:
    """``2 E d(s, y) - E d(s, s') - E d(y, y')`` with d = 1 - IoU.

    Every expectation runs over all pairs, a map with itself included. Pairs
    without an IoU (no labelled pixel to compare, or ``absent='skip'`` and no
    class in either map) are left out of their expectation, whose weights are
    renormalised.

    Args:
        samples: Integer label maps, shape (S, H, W) or (N, S, H, W).
        labels: Integer label maps, shape (A, H, W) or (N, A, H, W).
        absent: What a class missing from both maps counts: 'skip' leaves it
            out of the mean, 'one' counts it as IoU 1. The foreground IoU of
            LIDC is ``classes=(1,), absent='one'``.
        label_weights: Probabilities of the labels, shape (A,) or (N, A);
            None is uniform.
        sample_weights: What each sample counts, shape (S,) or (N, S), as
            those of support points; None is uniform.
        options: See :class:`PairOptions`.

    Returns:
        Scalar, or shape (N,); NaN where an expectation has no pair left.
    """
    terms = energy_distance_terms(
        samples,
        labels,
        absent=absent,
        label_weights=label_weights,
        sample_weights=sample_weights,
        **options,
    )
    return terms.ged
