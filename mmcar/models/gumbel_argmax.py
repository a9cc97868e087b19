"""``argmax_k (log F_k + g_k)`` in little time and memory, to the same bit.

Work goes tile by tile; classes that cannot win anywhere in a tile are left
out of it. Where noise differs between pixels, most of the time would go into
the Gumbel quantile of normal values n. It is monotone, so the maximum is also
that of ``log(Phi(n_k)) / F_k``, which fast functions give to three digits.
Where these do not decide, the sums themselves do.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .class_argmax import TILE, label_dtype, running_argmax, tiles
from .gumbel import SharedGumbel, gumbel_from_normal

# Side of the tiles of a field: all classes of one fit the cache.
FIELD_TILE = 64
# Relative error of the fast way, and the normal values where it holds.
ERROR = 1e-3
RANGE = (-4.0, 5.0)
# Classes this far below the largest cannot win within that range.
FARTHEST = 80.0


def gumbel_labels(
    gumbel: SharedGumbel, log_probs: Tensor, z: Tensor
) -> Tensor:
    """Draw label maps.

    Args:
        gumbel: Source of the noise.
        log_probs: log F (B, K, H, W).
        z: Standard normal (S, B, noise_size).

    Returns:
        Label maps (S, B, H, W) as small integers.
    """
    batch, classes, height, width = log_probs.shape
    labels = log_probs.new_empty(
        (len(z), batch, height, width), dtype=label_dtype(classes)
    )
    field = gumbel.frequencies is not None
    side = FIELD_TILE if field else TILE
    for tile in tiles((height, width), z.device, side):
        scores = log_probs[(..., *tile)].contiguous()
        normal = gumbel.normal(z, tile)
        pairs = itertools.product(range(len(z)), range(batch))
        if field:
            odds = _inverse_odds(scores)
            for s, b in pairs:
                own = labels[(s, b, *tile)]
                _race(scores[b], odds[b], normal[s, b], own)
            continue
        noise = gumbel_from_normal(normal)
        rivals = _rivals(scores, noise).tolist()
        for s, b in pairs:
            ids = [k for k, may_win in enumerate(rivals[s][b]) if may_win]
            sums = _sums(scores[b], noise[s, b], ids)
            running_argmax(sums, ids, labels[(s, b, *tile)])
    return labels


def _rivals(scores: Tensor, noise: Tensor) -> Tensor:
    """Which classes may win somewhere in a tile.

    Args:
        scores: log F (B, K, h, w).
        noise: One number per class (S, B, K, 1, 1).

    Returns:
        (S, B, K), False where another class is larger everywhere.
    """
    noise = noise[..., 0, 0]
    lowest, highest = (
        bound(scores, (-2, -1)) + noise for bound in (torch.amin, torch.amax)
    )
    # Negated, so that NaN is a rival, too.
    return ~(highest < lowest.amax(-1, keepdim=True))


def _sums(
    scores: Tensor, noise: Tensor, classes: Sequence[int]
) -> Iterator[Tensor]:
    """Log F plus noise (h, w) for each of some classes, in one buffer."""
    buffer = torch.empty_like(scores[0])
    for k in classes:
        yield torch.add(scores[k], noise[k], out=buffer)


def _inverse_odds(scores: Tensor) -> Tensor:
    """``max_j F_j / F_k`` of log F (B, K, h, w)."""
    best = scores.amax(1, keepdim=True)
    return (best - scores).clamp_(max=FARTHEST).exp_()


def _race(scores: Tensor, odds: Tensor, normal: Tensor, own: Tensor) -> None:
    """Write the winning class of each pixel of a field.

    Args:
        scores: log F (K, h, w).
        odds: Their `_inverse_odds`.
        normal: Normal values behind the noise (K, h, w).
        own: Where the labels go, (h, w).
    """
    # log(Phi(n)) = log1p(-Phi(-n))
    values = torch.erfc(normal * math.sqrt(0.5)).mul_(-0.5)
    values = values.log1p_().mul_(odds)  # all below 0
    labels = torch.zeros_like(own)
    best, second = values[0].clone(), torch.full_like(values[0], -torch.inf)
    larger, lower = torch.empty_like(best, dtype=torch.bool), best.clone()
    for index, value in enumerate(values[1:], 1):
        torch.gt(value, best, out=larger)
        labels.masked_fill_(larger, index)
        torch.minimum(best, value, out=lower)
        torch.maximum(second, lower, out=second)
        torch.maximum(best, value, out=best)
    # Negated, so that NaN is unsure, too.
    unsure = ~(second < best * (1 + ERROR))
    lowest, highest = normal.aminmax()
    if not (lowest > RANGE[0] and highest < RANGE[1]):
        unsure |= ((normal <= RANGE[0]) | (normal >= RANGE[1])).any(0)
    sums = scores[:, unsure] + gumbel_from_normal(normal[:, unsure])
    labels[unsure] = sums.argmax(0).to(own.dtype)
    own.copy_(labels)
