"""Where precision matters: mixed precision, logarithms of probabilities."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

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


def safe_log(probs: Tensor) -> Tensor:
    """Logarithm of probabilities, finite where they are zero."""
    return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()


def log_mean(probs: Iterable[Tensor]) -> Tensor:
    """`safe_log` of the mean of probabilities, of one shape each."""
    total: Any = 0.0
    number = 0
    for one in probs:
        total, number = total + one, number + 1
    return safe_log(total / number)
