"""Few samples that stand for many."""

import torch
from torch import Tensor

from ...utils.errors import UserError


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
