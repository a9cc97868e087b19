"""Keeping numbers below 1e-38 out of networks.

Samples at a low temperature and a sharp F have probabilities that small, and
so have the gradients that meet them. Such denormal numbers change nothing in
the result, but most CPUs compute with them many times slower.
"""

import math
from typing import Any

import torch
from torch import Tensor

# exp(-30) = 1e-13: below it, a class adds nothing to a float32 sum of 1.
SHARPEST = -30.0
_TINY_GRADIENT = 1e-30


def bounded_exp(log_probs: Tensor) -> Tensor:
    """Probabilities, none of them below exp(`SHARPEST`)."""
    return log_probs.clamp_min(SHARPEST).exp()


def bounded_softmax(logits: Tensor, dim: int) -> Tensor:
    """Softmax of logits that are at most `SHARPEST` below the largest."""
    if not logits.requires_grad:
        return logits.softmax(dim).clamp_min_(math.exp(SHARPEST))
    best = logits.detach().amax(dim, keepdim=True)
    return (logits - best).clamp_min(SHARPEST).softmax(dim)


class _DropTinyGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad.masked_fill(grad.abs() < _TINY_GRADIENT, 0.0)


def drop_tiny_gradients(x: Tensor) -> Tensor:
    """Return ``x``; gradients below 1e-30 do not pass back through it."""
    return _DropTinyGradients.apply(x)
