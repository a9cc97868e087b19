"""Intersection over union of every pair of label maps, counted exactly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Required, TypedDict, Unpack

from ...utils.checks import at_least, one_of
from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import Maps, check_maps, check_same_size, per_image

#: Pixels of all maps together that a CPU works on at once: they fit the cache,
#: and so do the masks of one class. Taken whole, a large image takes twice the
#: time.
BLOCK = 2**21


class PairCounts(NamedTuple):
    """Numbers of pixels, float64; those of a pair lie in both its windows.

    Attributes:
        both: Shape (C, N, M): both maps have the class.
        first: Shape (C, N, M), or (C, N, 1) if the windows of ``b`` are one:
            the first map has it.
        second: Shape (C, N, M), or (C, 1, M): the second map has it.
        window: Shape (N, M), N or M 1 if its windows are one: all pixels.
    """

    both: Tensor
    first: Tensor
    second: Tensor
    window: Tensor


#: Maps (N, P), and what counts of them: (N, P), or (1, P) for all alike.
Seen = tuple[Tensor, Tensor]


def count_pairs(a: Seen, b: Seen, classes: Sequence[int]) -> PairCounts:
    """Count the pixels of every pair of maps.

    On the CPU, masks are packed into words of 64 pixels. Elsewhere, counts
    are products of matrices, exact as long as they fit the mantissa.

    Args:
        a: N maps, and their windows.
        b: M maps. Pass the same object as ``a`` to save time.
        classes: The C class ids.
    """
    if a[0].device.type != 'cpu' or not hasattr(np, 'bitwise_count'):
        return _count_by_products(a, b, classes)
    number = len(a[0]) if a is b else len(a[0]) + len(b[0])
    step = max(BLOCK // number // 64 * 64, 64)

    def counts(start: int) -> PairCounts:
        part = slice(start, start + step)
        x = [maps[:, part].numpy() for maps in a]
        y = x if a is b else [maps[:, part].numpy() for maps in b]
        return _count_words(x, y, classes)

    return reduce(
        lambda one, other: PairCounts(*map(torch.add, one, other)),
        map(counts, range(0, a[0].shape[1], step)),
    )


def _count_by_products(a: Seen, b: Seen, classes: Sequence[int]) -> PairCounts:
    """The same by products of matrices."""
    exact = a[0].shape[1] <= 1 << 24
    dtype = torch.float32 if exact else torch.float64
    a_window, b_window = a[1].to(dtype), b[1].to(dtype)
    rows = []
    for c in classes:
        a_mask = has_id(a[0], c) * a_window
        b_mask = a_mask if a is b else has_id(b[0], c) * b_window
        pairs = (a_mask, b_mask), (a_mask, b_window), (a_window, b_mask)
        rows.append([(x @ y.T).double() for x, y in pairs])
    both, first, second = (torch.stack(c) for c in zip(*rows, strict=True))
    window = (a_window @ b_window.T).double()
    return PairCounts(both, first, second, window)


def _count_words(
    a: list[np.ndarray], b: list[np.ndarray], classes: Sequence[int]
) -> PairCounts:
    """The same by bits, of pixels that fit the cache."""
    same = a is b
    a_window = _pack(a[1])
    b_window = a_window if same else _pack(b[1])
    rows = []
    for c in classes:
        a_mask = _pack(a[0] == c) & a_window
        b_mask = a_mask if same else _pack(b[0] == c) & b_window
        first = _count(a_mask, b_window)
        second = first.T if same else _count(a_window, b_mask)
        rows.append((_count(a_mask, b_mask), first, second))
    counts = [np.stack(column) for column in zip(*rows, strict=True)]
    counts.append(_count(a_window, b_window))
    return PairCounts(*(torch.from_numpy(c).double() for c in counts))


def _pack(masks: np.ndarray) -> np.ndarray:
    """Masks (N, P) with 64 pixels per word."""
    packed = np.packbits(masks, axis=1)
    missing = -packed.shape[1] % 8
    if missing:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return packed.view('u8')


def _count(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sizes of all intersections of packed masks, (N, M) int64."""
    if len(b) < len(a):  # the loop is over the smaller set
        return _count(b, a).T
    counts = np.empty((len(a), len(b)), np.int64)
    shared = np.empty_like(b)
    ones = np.empty(b.shape, np.uint8)
    for i, row in enumerate(a):
        first = i if a is b else 0  # symmetric: the upper half is enough
        np.bitwise_and(row, b[first:], out=shared[first:])
        np.bitwise_count(shared[first:], out=ones[first:])
        # 32 bits hold 2**26 words of 64, far more than a block has
        counts[i, first:] = ones[first:].sum(1, dtype=np.uint32)
        if a is b:
            counts[first:, i] = counts[i, first:]
    return counts


class PairOptions(TypedDict, total=False):
    """Keywords of all that compares maps, see :class:`Comparison`."""

    num_classes: Required[int]
    classes: Sequence[int] | None
    absent: str | None
    ignore_index: int


@dataclass(frozen=True)
class Comparison:
    """How two label maps are compared: over which classes, and pixels.

    Two classes are read as background and foreground, and scored as the
    literature does: IoU of the foreground, 1 if both maps are empty.

    Args:
        num_classes: Number of classes K; ids are 0 .. K - 1.
        classes: Ids that the IoU is averaged over; None is (1,) for two
            classes, else all.
        absent: What a class missing from both maps counts: 'skip' leaves it
            out of the mean, 'one' counts it as IoU 1; None is 'one' for two
            classes, else 'skip'.
        ignore_index: Id of the pixels that a label leaves open. They are
            masked in the pairs of that label; those that every label ignores,
            in the pairs of samples.
    """

    num_classes: int
    classes: Sequence[int] | None = None
    absent: str | None = None
    ignore_index: int = 255

    def __post_init__(self) -> None:
        at_least(1, num_classes=self.num_classes)
        ids = [] if isinstance(self.classes, int) else self.ids
        valid = all(0 <= c < self.num_classes for c in ids)
        if not ids or not valid or len(set(ids)) < len(ids):
            raise UserError(
                'classes: expected distinct ids in '
                f'0..{self.num_classes - 1}, got {self.classes}'
            )
        one_of(('skip', 'one'), absent=self.rule)

    @property
    def ids(self) -> list[int]:
        """Ids that the IoU is averaged over."""
        if self.classes is not None:
            return list(self.classes)
        return [1] if self.num_classes == 2 else [*range(self.num_classes)]

    @property
    def rule(self) -> str:
        """What a class missing from both maps counts, 'skip' or 'one'."""
        return self.absent or ('one' if self.num_classes == 2 else 'skip')


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
        """Average over classes; ``absent`` as in :class:`Comparison`.

        Returns:
            Shape (N, M); NaN for a pair without a pixel to compare, or where
            'skip' leaves no class.
        """
        if absent == 'skip':
            return self.iou.sum(0) / self.present.sum(0)
        mean = (self.iou + ~self.present).mean(0)
        return mean.masked_fill(~self.comparable, math.nan)

    def labelled_mean(self, absent: str) -> Tensor:
        """:meth:`mean` without the columns that no row can be compared to.

        With samples as rows and labels as columns, these are the labels of
        annotators who labelled nothing.
        """
        return self.mean(absent)[:, self.comparable.any(0)]


def _small(maps: Tensor, num_classes: int) -> Tensor:
    """Maps as bytes if ids fit: they were checked, masked ones may wrap."""
    return maps.to(torch.uint8) if num_classes <= 256 else maps


def _one_window(valid: Tensor) -> Tensor:
    """Masks (N, ...) as one, (1, ...), if they are all the same."""
    return valid[:1] if (valid[1:] == valid[:1]).all() else valid


def class_ious(
    a: Tensor, b: Tensor, a_valid: Tensor, b_valid: Tensor, how: Comparison
) -> ClassIoU:
    """IoU per class of all pairs; a pair is masked where either map is.

    Args:
        a: Shape (N, H, W). Pass the same object as ``b`` to save time.
        b: Shape (M, H, W).
        a_valid: Shape (N, H, W), or (1, H, W) for all alike, bool: the
            pixels of ``a`` that count.
        b_valid: Shape (M, H, W) or (1, H, W), bool.
        how: See :class:`Comparison`; it has the C class ids.
    """

    def flat(maps: Tensor, valid: Tensor) -> Seen:
        maps = _small(maps, how.num_classes).flatten(1).contiguous()
        return maps, _one_window(valid.flatten(1))

    first = flat(a, a_valid)
    second = first if a is b else flat(b, b_valid)
    counts = count_pairs(first, second, how.ids)
    union = counts.first + counts.second - counts.both
    return ClassIoU(
        counts.both / union.clamp(min=1),
        union > 0,
        (counts.window > 0).expand(union.shape[1:]),
    )


def _checked(samples: Tensor, labels: Tensor, how: Comparison) -> Tensor:
    """Labels (A, H, W), where they are compared with samples (S, H, W)."""
    check_maps('samples', samples, how.num_classes)
    check_maps('labels', labels, how.num_classes, how.ignore_index)
    check_same_size(samples=samples, labels=labels)
    return labels.to(samples.device)


def joint_class_ious(
    samples: Tensor, labels: Tensor, how: Comparison
) -> ClassIoU:
    """IoU per class of all pairs among the samples *and* labels of an image.

    A label's ignored pixels are masked in its pairs, those of either in a
    pair of labels, and those that every label ignores in a pair of samples.
    The last is a subset of the first, so one mask per map says it all.

    Args:
        samples: Shape (S, H, W).
        labels: Shape (A, H, W).
        how: See :class:`Comparison`.

    Returns:
        Table of shape (C, S + A, S + A), samples first.
    """
    labels = _checked(samples, labels, how)
    both = (_small(m, how.num_classes) for m in (samples, labels))
    maps = torch.cat([*both])
    valid = _one_window(~has_id(labels, how.ignore_index))
    if len(valid) > 1:
        seen = valid.any(0).expand(len(samples), -1, -1)
        valid = torch.cat([seen, valid])
    return class_ious(maps, maps, valid, valid, how)


def cross_class_ious(
    samples: Tensor, labels: Tensor, how: Comparison
) -> ClassIoU:
    """The (C, S, A) part of :func:`joint_class_ious`; same inputs."""
    labels = _checked(samples, labels, how)
    seen = ~has_id(labels, how.ignore_index)
    every = torch.ones_like(samples[:1], dtype=torch.bool)
    return class_ious(samples, labels, every, seen, how)


@torch.no_grad()
def pairwise_iou(a: Maps, b: Maps, **options: Unpack[PairOptions]) -> Tensor:
    """Mean IoU over classes of every map in ``a`` with every map in ``b``.

    Args:
        a: Integer label maps, shape (N, S, H, W) or (S, H, W).
        b: Integer label maps, shape (N, A, H, W) or (A, H, W). A pair leaves
            out the pixels that either map ignores.
        options: See :class:`Comparison`.

    Returns:
        Shape (N, S, A) or (S, A), float64; NaN for a pair without an IoU:
        one in which no pixel is labelled, or 'skip' leaves no class.

    Example:
        >>> a = torch.tensor([[[0, 1, 1, 1]]])
        >>> b = torch.tensor([[[0, 0, 1, 1]], [[0, 1, 1, 255]]])
        >>> pairwise_iou(a, b, num_classes=2)
        tensor([[0.6667, 1.0000]], dtype=torch.float64)
    """
    how = Comparison(**options)

    def compare(x: Tensor, y: Tensor, *_: None) -> Tensor:
        check_maps('a', x, how.num_classes, how.ignore_index)
        check_maps('b', y, how.num_classes, how.ignore_index)
        check_same_size(a=x, b=y)
        seen, valid = (~has_id(m, how.ignore_index) for m in (x, y))
        return class_ious(x, y, seen, valid, how).mean(how.rule)

    return per_image(compare, a, b)
