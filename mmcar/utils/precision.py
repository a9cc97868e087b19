"""Mixed precision, and where to leave it."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def full_precision(tensor: Tensor) -> AbstractContextManager:
    """Leave mixed precision on a tensor's device.

    For sums over many pixels, gradients of gradients and quantiles.
    """
    device = tensor.device.type
    if not torch.amp.is_autocast_available(device):
        return nullcontext()
    return torch.autocast(device, enabled=False)
