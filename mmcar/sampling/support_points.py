"""Few samples that stand for many."""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..utils.checks import at_least
from ..utils.ids import has_id


def support_points(distances: Tensor, number: int) -> tuple[list[int], Tensor]:
    """Choose draws, each for those nearest to it, that stand for all.

    A chosen draw counts as much as the draws that are nearer to it than to
    any other. Those are chosen whose energy distance to all draws is then
    smallest: one after the other the best draw joins, then members are
    exchanged for others as long as that helps. Deterministic.

    Args:
        distances: Distance of every pair of N draws (N, N), symmetric.
        number: How many to keep, n.

    Returns:
        Indices of the n draws, in ascending order, and the share (n,) of all
        draws for which each stands.
    """
    at_least(1, number=number)
    at_least(number, draws=len(distances))
    distances = distances.double()
    chosen: list[int] = []
    for _ in range(number):
        chosen.append(int(_costs(distances, chosen).argmin()))
    while _exchange(distances, chosen):
        pass
    chosen = sorted(chosen)
    nearest = distances[:, chosen].argmin(1)
    counts = torch.bincount(nearest, minlength=number)
    return chosen, counts.double() / len(distances)


def _costs(distances: Tensor, members: list[int]) -> Tensor:
    """Energy distance to all draws, but for a constant, if a draw joins.

    Args:
        distances: (N, N).
        members: The m draws that are chosen.

    Returns:
        Of each draw (N,), infinite for members.
    """
    to_all = distances.mean(1)
    if not members:
        return 2 * to_all
    own = distances[members]  # (m, N)
    near, owner = own.min(0)
    # Which draws (N) a candidate (N) takes over, and what is left to members.
    taken = (distances < near[:, None]).double()
    owned = one_hot(owner, len(members)).double()  # (N, m)
    left = (owned.sum(0)[:, None] - owned.T @ taken) / len(distances)
    share = taken.mean(0)
    across = to_all[members] @ left + share * to_all
    among = ((own[:, members] @ left + 2 * share * own) * left).sum(0)
    costs = 2 * across - among
    costs[members] = torch.inf
    return costs


def _exchange(distances: Tensor, chosen: list[int]) -> bool:
    """Exchange members for better draws; say whether there were any."""
    better = False
    for place, member in enumerate(chosen):
        costs = _costs(distances, chosen[:place] + chosen[place + 1 :])
        best = int(costs.argmin())
        # Rounding must not make two draws take turns for ever.
        if costs[best] < costs[member] - 1e-12:
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
        mask = has_id(flat, k).float()
        shared = mask @ mask.T
        area = shared.diagonal()
        union = area[:, None] + area - shared
        total += (1 - shared / union.clamp(min=1)).where(union > 0, 0.0)
        count += union > 0
    return total / count.clamp(min=1)


def representative(
    maps: Tensor, number: int, num_classes: int
) -> tuple[Tensor, Tensor]:
    """The label maps that stand for all best, and for how many each does.

    Args:
        maps: Draws (N, H, W).
        number: How many to keep, n.
        num_classes: Number of classes.

    Returns:
        Maps (n, H, W), in the order of the draws, and the share (n,) of all
        draws for which each stands.
    """
    distances = map_distances(maps, num_classes)
    chosen, shares = support_points(distances, number)
    return maps[chosen], shares
