"""How many pixels every pair of label maps shares, class by class."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...utils.ids import has_id

BLOCK = 2**21
"""Pixels of all maps together that a CPU works on at once: they fit the cache,
and so do the masks of one class. Taken whole, a large image takes twice the
time."""


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


def count_pairs(
    a: Tensor,
    b: Tensor,
    a_window: Tensor,
    b_window: Tensor,
    classes: Sequence[int],
) -> PairCounts:
    """Count the pixels of every pair of maps.

    On the CPU, masks are packed into words of 64 pixels. Elsewhere, counts
    are products of matrices, exact as long as they fit the mantissa.

    Args:
        a: Maps (N, P).
        b: Maps (M, P). Pass the same object as ``a`` to save time, with the
            same windows.
        a_window: Shape (N, P), or (1, P) for all alike, bool: what counts.
        b_window: Shape (M, P) or (1, P), bool.
        classes: The C class ids.
    """
    if a.device.type != 'cpu' or not hasattr(np, 'bitwise_count'):
        return _count_by_products(a, b, a_window, b_window, classes)
    number = len(a) if a is b else len(a) + len(b)
    step = max(BLOCK // number // 64 * 64, 64)

    def counts(start: int) -> PairCounts:
        x, y, v, w = (
            maps[:, start : start + step].numpy()
            for maps in (a, b, a_window, b_window)
        )
        if a is b:
            y, w = x, v
        return _count_words(x, y, v, w, classes)

    return reduce(
        lambda one, other: PairCounts(*map(torch.add, one, other)),
        map(counts, range(0, a.shape[1], step)),
    )


def _count_by_products(
    a: Tensor,
    b: Tensor,
    a_window: Tensor,
    b_window: Tensor,
    classes: Sequence[int],
) -> PairCounts:
    """The same by products of matrices."""
    exact = a.shape[1] <= 1 << 24
    dtype = torch.float32 if exact else torch.float64
    a_window, b_window = a_window.to(dtype), b_window.to(dtype)
    rows = []
    for c in classes:
        a_mask = has_id(a, c) * a_window
        b_mask = a_mask if a is b else has_id(b, c) * b_window
        pairs = (a_mask, b_mask), (a_mask, b_window), (a_window, b_mask)
        rows.append([(x @ y.T).double() for x, y in pairs])
    both, first, second = (torch.stack(c) for c in zip(*rows, strict=True))
    window = (a_window @ b_window.T).double()
    return PairCounts(both, first, second, window)


def _count_words(
    a: np.ndarray,
    b: np.ndarray,
    a_window: np.ndarray,
    b_window: np.ndarray,
    classes: Sequence[int],
) -> PairCounts:
    """The same by bits, of pixels that fit the cache."""
    same = a is b
    a_window = _pack(a_window)
    b_window = a_window if same else _pack(b_window)
    rows = []
    for c in classes:
        a_mask = _pack(a == c) & a_window
        b_mask = a_mask if same else _pack(b == c) & b_window
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
