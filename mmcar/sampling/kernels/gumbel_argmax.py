"""``argmax_k (log F_k + g_k)`` in little time and memory, to the same bit.

Gains 11 times with one number per class and 4.6 times with fields over the
argmax of all sums (1024x2048, 19 classes), in a seventieth of the memory.

Work goes tile by tile; classes that cannot win anywhere in a tile are left
out of it. Where noise differs between pixels, most of the time would go into
the Gumbel quantile of normal values n. It is monotone, so the maximum is also
that of ``log(Phi(n_k)) / F_k``, which fast functions give to three digits.
Where these do not decide, the sums themselves do.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from .class_argmax import (
    TILE,
    Tile,
    as_array,
    class_argmax,
    gains_by_tiles,
    label_dtype,
    running_argmax,
    tiles,
)

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
    for s, b in itertools.product(*map(range, labels.shape[:2])):
        ids = rivals[s, b].nonzero()[:, 0].tolist()
        sums = _sums(values[b], numbers[s, b], ids)
        running_argmax(sums, ids, labels[s, b])


def _sums(
    scores: np.ndarray, noise: np.ndarray, classes: Sequence[int]
) -> Iterator[np.ndarray]:
    """Log F plus noise (h, w) for each of some classes, in one buffer."""
    buffer = np.empty_like(scores[0])
    for k in classes:
        yield np.add(scores[k], noise[k], out=buffer)


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
