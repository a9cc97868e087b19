"""The most probable class of every pixel, and that of ``log F + g``.

Gains 14 times at 1024x2048 and 19 classes, 7 times at 128x128 and two; counts
of classes gain 6 times. With Gumbel noise g, to the same bit, it gains 11
times with one number per class and 4.6 times with fields over the argmax of
all sums, in a seventieth of the memory.

``argmax`` over classes that lie far apart in memory, as in (K, H, W), is slow
on a CPU; a running maximum over classes is not, as long as its pixels stay in
the cache. Results are those of ``argmax``, the first of equal maxima included.

With noise, work goes tile by tile; classes that cannot win anywhere in a tile
are left out of it. Where noise differs between pixels, most of the time would
go into the Gumbel quantile of normal values n. It is monotone, so the maximum
is also that of ``log(Phi(n_k)) / F_k``, which fast functions give to three
digits. Where these do not decide, the sums themselves do.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

# Side of the squares worked on: four float32 maps of one fit into 512 kB,
# and few classes compete within it.
TILE = 128

# Pixels of the rows worked on where all classes compete.
BLOCK = 2**15

# Rows and columns of a part of an image.
Tile = tuple[slice, slice]


def label_dtype(num_classes: int) -> torch.dtype:
    """The smallest type of label maps with so many classes."""
    return torch.uint8 if num_classes <= 256 else torch.int16


def gains_by_tiles(device: torch.device) -> bool:
    """Whether to work tile by tile, with NumPy, looking at values.

    CPUs have caches to fit into; other devices would have to wait.
    """
    return device.type == 'cpu'


def tiles(size: tuple[int, int], side: int) -> Iterator[Tile]:
    """Squares that cover an image of some height and width."""
    height, width = size
    for top in range(0, height, side):
        for left in range(0, width, side):
            yield (
                slice(top, min(top + side, height)),
                slice(left, min(left + side, width)),
            )


def row_blocks(size: Sequence[int]) -> Iterator[slice]:
    """Rows that cover an image, so many at a time as the cache holds."""
    height, width = size
    step = max(BLOCK // width, 1)
    for top in range(0, height, step):
        yield slice(top, min(top + step, height))


def running_argmax(
    maps: Iterable[np.ndarray], ids: Sequence[int], labels: np.ndarray
) -> None:
    """Write the id of the largest of several maps into ``labels``.

    In NumPy, whose comparisons and maxima of small arrays take a quarter of
    the time of torch's.

    Args:
        maps: One map of scores per id, all of one shape. Each may be
            overwritten once the next has been asked for.
        ids: Ids in ascending order; the first of equal scores wins.
        labels: Where the result goes, of that shape and an integer type.
    """
    if len(ids) == 1:
        labels.fill(ids[0])
        return
    maps = iter(maps)
    best = next(maps).copy()
    winner = np.full(best.shape, ids[0], labels.dtype)
    larger, mark = np.empty(best.shape, np.uint8), np.empty_like(winner)
    for index, scores in zip(ids[1:], maps, strict=True):
        np.greater(scores, best, out=larger.view(bool))
        # Ids ascend: that of the latest leader is the largest.
        np.multiply(larger, labels.dtype.type(index), out=mark)
        np.maximum(winner, mark, out=winner)
        np.maximum(best, scores, out=best)
    labels[...] = winner


def as_array(maps: Tensor) -> np.ndarray:
    """A tensor on the CPU as an array with a type that NumPy has."""
    if maps.dtype == torch.bfloat16:
        maps = maps.float()
    return maps.detach().numpy()


def class_argmax(scores: Tensor, ids: Sequence[int] | None = None) -> Tensor:
    """``scores.argmax(dim=1)`` of (B, K, H, W) as small integers.

    Args:
        scores: Of any classes.
        ids: Which classes they are, in ascending order; None: all, from 0.

    Returns:
        (B, H, W).
    """
    batch, classes, height, width = scores.shape
    ids = range(classes) if ids is None else ids
    dtype = label_dtype(ids[-1] + 1)
    if not gains_by_tiles(scores.device):
        found = torch.tensor(ids, dtype=dtype, device=scores.device)
        return found[scores.argmax(dim=1)]
    labels = torch.empty((batch, height, width), dtype=dtype)
    for values, own in zip(as_array(scores), labels.numpy(), strict=True):
        for rows in row_blocks((height, width)):
            maps = values[:, rows]
            if maps.strides[-1] != maps.itemsize:  # channels last
                maps = np.ascontiguousarray(maps)
            running_argmax(maps, ids, own[rows])
    return labels


def class_counts(labels: Tensor, num_classes: int) -> Tensor:
    """How many of S label maps (S, H, W) name each class: (K, H, W)."""
    number, height, width = labels.shape
    if not gains_by_tiles(labels.device):
        counts = torch.zeros(num_classes, height, width, device=labels.device)
        ones = torch.ones(labels.shape, device=labels.device)
        return counts.scatter_add_(0, labels.long(), ones)
    counts = torch.empty(num_classes, height, width)
    sum_dtype = np.uint8 if number < 256 else np.int64
    for rows in row_blocks((height, width)):
        part = as_array(labels)[:, rows]
        found = np.empty(part.shape, np.uint8)
        for index, own in enumerate(counts.numpy()):
            np.equal(part, index, out=found.view(bool))
            own[rows] = found.sum(0, dtype=sum_dtype)
    return counts


# Beyond, float32 rounds the normal cdf to 0 or 1 and the quantile to infinity.
TAIL = 12.0
# Side of the tiles of a field: small, as noise varies within it, and classes
# that win somewhere in it should be few.
FIELD_TILE = 64
# Relative error of the fast way, and the normal values where it holds.
ERROR = 1e-3
RANGE = (-4.0, 5.0)
# Classes this far below the largest cannot win within that range.
FARTHEST = 80.0
# What rounding may add to a sum: one below by more cannot win.
ROUNDING = 1e-3


def gumbel_from_normal(normal: Tensor) -> Tensor:
    """Turn standard normal into standard Gumbel values, tails included."""
    normal = normal.clamp(-TAIL, TAIL)
    return -torch.log(-torch.special.log_ndtr(normal))


def gumbel_labels(
    log_probs: Tensor,
    z: Tensor,
    normal: Callable[[Tensor, Tile], Tensor],
    varies: bool,
) -> Tensor:
    """Draw label maps: the argmax of log F and Gumbel noise.

    Args:
        log_probs: log F (B, K, H, W).
        z: Standard normal (S, B, noise_size).
        normal: Normal values behind the noise (S, B, K, h, w) of ``z`` and a
            tile; (S, B, K, 1, 1) if all its pixels share.
        varies: Whether noise differs between pixels.

    Returns:
        Label maps (S, B, H, W) as small integers.
    """
    batch, classes, height, width = log_probs.shape
    if not gains_by_tiles(log_probs.device):
        whole = slice(0, height), slice(0, width)
        noise = (gumbel_from_normal(normal(one[None], whole)) for one in z)
        return torch.stack([class_argmax(log_probs + own[0]) for own in noise])
    labels = torch.empty(
        (len(z), batch, height, width), dtype=label_dtype(classes)
    )
    draw = _draw_field if varies else _draw_numbers
    for tile in tiles((height, width), FIELD_TILE if varies else TILE):
        scores = log_probs[(..., *tile)].contiguous()
        draw(scores, normal(z, tile), labels.numpy()[(..., *tile)])
    return labels


def _draw_numbers(scores: Tensor, normal: Tensor, labels: np.ndarray) -> None:
    """Draw a tile with one number per class.

    Args:
        scores: log F (B, K, h, w).
        normal: Normal values behind the noise (S, B, K, 1, 1).
        labels: Where the labels go, (S, B, h, w).
    """
    noise = gumbel_from_normal(normal)[..., 0, 0]
    lowest, highest = (
        bound(scores, (-2, -1)) + noise for bound in (torch.amin, torch.amax)
    )
    # Negated, so that NaN is a rival, too.
    rivals = ~(highest < lowest.amax(-1, keepdim=True))
    values, numbers = as_array(scores), as_array(noise)
    total = np.empty(labels.shape[2:], values.dtype)
    for s, b in itertools.product(*map(range, labels.shape[:2])):
        ids = rivals[s, b].nonzero()[:, 0].tolist()
        sums = (np.add(values[b, k], numbers[s, b, k], out=total) for k in ids)
        running_argmax(sums, ids, labels[s, b])


def _draw_field(scores: Tensor, normal: Tensor, labels: np.ndarray) -> None:
    """Draw a tile whose noise differs between pixels.

    Args:
        scores: log F (B, K, h, w).
        normal: Normal values behind the noise (S, B, K, h, w).
        labels: Where the labels go, (S, B, h, w).
    """
    values, pixels = as_array(scores.flatten(2)), as_array(normal.flatten(3))
    low, high = (
        gumbel_from_normal(torch.from_numpy(extreme)).numpy()
        for extreme in (pixels.min(-1), pixels.max(-1))
    )
    best = values.max(1, keepdims=True)
    odds = np.exp(np.minimum(best - values, FARTHEST))  # max_j F_j / F_k
    size = labels.shape[2:]
    for s, b in itertools.product(*map(range, labels.shape[:2])):
        ids = _rivals(values[b], low[s, b], high[s, b])
        if len(ids) == 1:
            labels[s, b].fill(ids[0])
            continue
        parts = (part[ids] for part in (values[b], odds[b], pixels[s, b]))
        labels[s, b] = ids.astype(labels.dtype)[_race(*parts)].reshape(size)


def _rivals(
    scores: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Ids of the classes that may win somewhere in a tile.

    Args:
        scores: log F (K, P).
        low: Lower bounds of the noise of each class (K,).
        high: Upper bounds of the noise of each class (K,).
    """
    least = (scores + low[:, None]).max(0)  # what the winner has
    reach = (scores - least).max(1) + high
    # Negated, so that NaN is a rival, too.
    return np.flatnonzero(~(reach < -ROUNDING))


def _race(
    scores: np.ndarray, odds: np.ndarray, normal: np.ndarray
) -> np.ndarray:
    """The winner at each pixel of a field, by its place among the rivals.

    Args:
        scores: log F (R, P) of the rivals.
        odds: ``max_j F_j / F_k`` (R, P).
        normal: Normal values behind the noise (R, P).

    Returns:
        Indices (P,) from 0 to R - 1.
    """
    # log(Phi(n)) = log1p(-Phi(-n)); NumPy has no erfc.
    halves = torch.from_numpy(normal * np.float32(math.sqrt(0.5)))
    values = halves.erfc_().mul_(-0.5).log1p_().numpy()
    values *= odds  # all below 0
    # Negated, so that NaN is close, too.
    close = ~(values < values.max(0) * np.float32(1 + ERROR))
    close = close.view(np.uint8)
    small = np.uint8 if len(close) < 256 else np.int16
    unsure = close.sum(0, dtype=small) != 1
    if not (normal.min() > RANGE[0] and normal.max() < RANGE[1]):
        unsure |= ((normal <= RANGE[0]) | (normal >= RANGE[1])).any(0)
    # Right where one is close.
    winner = (close * np.arange(len(close), dtype=small)[:, None]).max(0)
    if unsure.any():
        noise = gumbel_from_normal(torch.from_numpy(normal[:, unsure]))
        winner[unsure] = (scores[:, unsure] + noise.numpy()).argmax(0)
    return winner
