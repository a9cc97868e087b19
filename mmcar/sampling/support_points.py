"""Few samples that stand for many."""

import math

import torch
from torch import Tensor

from ..utils.errors import UserError


def support_points(distances: Tensor, number: int) -> list[int]:
    """Choose the draws whose energy distance to all draws is smallest.

    One after the other the best draw joins; then members are exchanged for
    others as long as that helps. Deterministic.

    Args:
        distances: Distance of every pair of N draws (N, N), symmetric.
        number: How many to keep, n.

    Returns:
        Indices of the n draws, in ascending order.
    """
    if not 1 <= number <= len(distances):
        raise UserError(
            f'support points: number={number}; expected 1 to '
            f'{len(distances)}, the number of draws'
        )
    distances = distances.double()
    to_all = distances.mean(1)  # (N,)
    chosen: list[int] = []
    for count in range(1, number + 1):
        cost = 2 * to_all - _self_terms(distances, chosen) / count
        cost[chosen] = torch.inf
        chosen.append(int(cost.argmin()))
    while _exchange(distances, to_all, chosen):
        pass
    return sorted(chosen)


def _self_terms(distances: Tensor, members: list[int]) -> Tensor:
    """What each draw (N,) adds to the distances among members, twice."""
    return 2 * distances[:, members].sum(1) + distances.diagonal()


def _exchange(distances: Tensor, to_all: Tensor, chosen: list[int]) -> bool:
    """Exchange members for better draws; say whether there were any."""
    number, better = len(chosen), False
    for place, member in enumerate(chosen):
        others = chosen[:place] + chosen[place + 1 :]
        cost = 2 * to_all - _self_terms(distances, others) / number
        cost[others] = torch.inf
        best = int(cost.argmin())
        # Rounding must not make two draws take turns for ever.
        if cost[best] < cost[member] - 1e-12:
            chosen[place], better = best, True
    return better


# Pixels that a comparison looks at; of larger images a regular part.
PIXELS = 2**16


def map_distances(maps: Tensor, num_classes: int) -> Tensor:
    """1 - IoU of every pair of label maps.

    Args:
        maps: (N, H, W) integer.
        num_classes: Number of classes; of two the second counts, of more the
            mean over those that occur in either map.

    Returns:
        (N, N); 0 where none of these classes occurs in a pair.
    """
    step = math.ceil(math.sqrt(maps[0].numel() / PIXELS))
    flat = maps[:, ::step, ::step].flatten(1)
    total = torch.zeros(len(maps), len(maps), device=maps.device)
    count = torch.zeros_like(total)
    for k in range(1 if num_classes == 2 else 0, num_classes):
        mask = (flat == k).float()
        shared = mask @ mask.T
        area = shared.diagonal()
        union = area[:, None] + area - shared
        total += (1 - shared / union.clamp(min=1)).where(union > 0, 0.0)
        count += union > 0
    return total / count.clamp(min=1)


def representative(maps: Tensor, number: int, num_classes: int) -> Tensor:
    """The label maps that stand for all best.

    Args:
        maps: Draws (N, H, W).
        number: How many to keep.
        num_classes: Number of classes.

    Returns:
        (number, H, W), in the order of the draws.
    """
    return maps[support_points(map_distances(maps, num_classes), number)]
