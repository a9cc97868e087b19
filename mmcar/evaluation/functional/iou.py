"""Intersection over union of every pair of label maps, counted exactly."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import Required, TypedDict, Unpack

from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import check_classes, check_maps, check_same_size, per_image
from .pair_counts import count_pairs


class PairOptions(TypedDict, total=False):
    """Keywords of all that compares samples with labels.

    Attributes:
        num_classes: Number of classes K; ids are 0 .. K - 1. Always needed.
        classes: Ids that the IoU is averaged over; None, the default, is all.
        ignore_index: Id of the pixels that a label leaves open, 255 by
            default. They are masked in the pairs of that label; those that
            every label ignores, in the pairs of samples.
    """

    num_classes: Required[int]
    classes: Sequence[int] | None
    ignore_index: int


class ClassIoU(NamedTuple):
    """IoU of every class in every pair of two sets of maps.

    Attributes:
        iou: Shape (C, N, M), float64; 0 where a class is not present.
        present: Shape (C, N, M), bool; the class occurs in the pair.
        comparable: Shape (N, M), bool; some pixel counts in the pair.
    """

    iou: Tensor
    present: Tensor
    comparable: Tensor

    def mean(self, absent: str) -> Tensor:
        """Average over classes.

        Args:
            absent: What a class missing from both maps counts: 'skip' leaves
                it out of the mean (NaN if none remains), 'one' counts it 1.

        Returns:
            Shape (N, M); NaN for a pair without a pixel to compare.
        """
        if absent == 'skip':
            return self.iou.sum(0) / self.present.sum(0)
        if absent == 'one':
            mean = (self.iou + ~self.present).mean(0)
            return mean.masked_fill(~self.comparable, math.nan)
        raise UserError(f"absent: expected 'skip' or 'one', got {absent!r}")

    def labelled_mean(self, absent: str) -> Tensor:
        """:meth:`mean` without the columns that no row can be compared to.

        With samples as rows and labels as columns, these are the labels of
        annotators who labelled nothing.
        """
        return self.mean(absent)[:, self.comparable.any(0)]

    def part(
        self, rows: list[int] | slice, columns: list[int] | slice
    ) -> 'ClassIoU':
        """The table of some of the maps."""
        return ClassIoU(*(x[..., rows, :][..., columns] for x in self))


def _small(maps: Tensor, num_classes: int) -> Tensor:
    """Maps as bytes if ids fit: they were checked, masked ones may wrap."""
    return maps.to(torch.uint8) if num_classes <= 256 else maps


def _flatten(
    maps: Tensor, valid: Tensor, num_classes: int
) -> tuple[Tensor, Tensor]:
    """Flatten to (N, P)."""
    maps = _small(maps, num_classes)
    return maps.flatten(1).contiguous(), _one_window(valid.flatten(1))


def _one_window(valid: Tensor) -> Tensor:
    """Masks (N, ...) as one, (1, ...), if they are all the same."""
    return valid[:1] if (valid[1:] == valid[:1]).all() else valid


def class_ious(
    a: Tensor,
    b: Tensor,
    a_valid: Tensor,
    b_valid: Tensor,
    classes: Sequence[int],
    num_classes: int,
) -> ClassIoU:
    """IoU per class of all pairs; a pair is masked where either map is.

    Args:
        a: Shape (N, H, W). Pass the same object as ``b`` to save time.
        b: Shape (M, H, W).
        a_valid: Shape (N, H, W), or (1, H, W) for all alike, bool: the
            pixels of ``a`` that count.
        b_valid: Shape (M, H, W) or (1, H, W), bool.
        classes: The C class ids.
        num_classes: Number of classes in the maps.
    """
    same = a is b
    a, a_valid = _flatten(a, a_valid, num_classes)
    b, b_valid = (a, a_valid) if same else _flatten(b, b_valid, num_classes)
    counts = count_pairs(a, b, a_valid, b_valid, classes)
    union = counts.first + counts.second - counts.both
    return ClassIoU(
        counts.both / union.clamp(min=1),
        union > 0,
        (counts.window > 0).expand(union.shape[1:]),
    )


class _Labels(NamedTuple):
    """Labels that were checked, and what :func:`class_ious` needs of them."""

    maps: Tensor
    valid: Tensor
    classes: list[int]
    num_classes: int


def _check_labels(
    samples: Tensor,
    labels: Tensor,
    *,
    num_classes: int,
    classes: Sequence[int] | None = None,
    ignore_index: int = 255,
) -> _Labels:
    """Check samples (S, H, W) and labels (A, H, W) by `PairOptions`."""
    check_maps('samples', samples, num_classes)
    check_maps('labels', labels, num_classes, ignore_index)
    check_same_size(samples=samples, labels=labels)
    ids = check_classes(classes, num_classes)
    labels = labels.to(samples.device)
    return _Labels(labels, ~has_id(labels, ignore_index), ids, num_classes)


def joint_class_ious(
    samples: Tensor, labels: Tensor, **options: Unpack[PairOptions]
) -> ClassIoU:
    """IoU per class of all pairs among the samples *and* labels of an image.

    A label's ignored pixels are masked in its pairs, those of either in a
    pair of labels, and those that every label ignores in a pair of samples.
    The last is a subset of the first, so one mask per map says it all.

    Args:
        samples: Shape (S, H, W).
        labels: Shape (A, H, W).
        options: See :class:`PairOptions`.

    Returns:
        Table of shape (C, S + A, S + A), samples first.
    """
    labels, valid, ids, k = _check_labels(samples, labels, **options)
    maps = torch.cat([_small(m, k) for m in (samples, labels)])
    valid = _one_window(valid)
    if len(valid) > 1:
        seen = valid.any(0).expand(len(samples), -1, -1)
        valid = torch.cat([seen, valid])
    return class_ious(maps, maps, valid, valid, ids, k)


def cross_class_ious(
    samples: Tensor, labels: Tensor, **options: Unpack[PairOptions]
) -> ClassIoU:
    """The (C, S, A) part of :func:`joint_class_ious`; same inputs."""
    labels, valid, ids, k = _check_labels(samples, labels, **options)
    everywhere = torch.ones_like(samples[:1], dtype=torch.bool)
    return class_ious(samples, labels, everywhere, valid, ids, k)


@torch.no_grad()
def pairwise_iou(
    a: Tensor,
    b: Tensor,
    *,
    num_classes: int,
    classes: Sequence[int] | None = None,
    ignore_index: int = 255,
    absent: str = 'skip',
) -> Tensor:
    """Mean IoU over classes of every map in ``a`` with every map in ``b``.

    Args:
        a: Integer label maps, shape (S, H, W) or (N, S, H, W).
        b: Integer label maps, shape (A, H, W) or (N, A, H, W).
        num_classes: Number of classes K; ids are 0 .. K - 1.
        classes: Ids that are averaged; None is all, (1,) the foreground.
        ignore_index: A pair leaves out the pixels where either map has it.
        absent: What a class missing from both maps counts: 'skip' leaves it
            out of the mean (NaN if none remains), 'one' counts it 1.

    Returns:
        Shape (S, A) or (N, S, A), float64; NaN for a pair without an IoU:
        one in which no pixel is labelled, or 'skip' leaves no class.
    """
    ids = check_classes(classes, num_classes)

    def compare(x: Tensor, y: Tensor) -> Tensor:
        check_maps('a', x, num_classes, ignore_index)
        check_maps('b', y, num_classes, ignore_index)
        check_same_size(a=x, b=y)
        valid = ~has_id(x, ignore_index), ~has_id(y, ignore_index)
        return class_ious(x, y, *valid, ids, num_classes).mean(absent)

    return per_image(compare, a, b)
