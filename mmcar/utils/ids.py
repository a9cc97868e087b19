"""Ids of classes in label maps of any type."""

import torch
from torch import Tensor


def has_id(maps: Tensor, number: int) -> Tensor:
    """Where maps have an id; nowhere if their type cannot hold it.

    ``maps == number`` would compare with what is left of the number in that
    type: 300 is 44 in bytes, and -1 is 255.
    """
    limits = torch.iinfo(maps.dtype)
    if limits.min <= number <= limits.max:
        return maps == number
    return torch.zeros_like(maps, dtype=torch.bool)
