"""Gaussian fields that are sums of few numbers, with weights per pixel.

``z_k(x) = sum_r w_r(x) z_kr`` is standard normal at every pixel x as long as
``sum_r w_r(x)^2 = 1``: whatever the weights, a draw by the Gumbel numbers
behind it has F's probabilities. The weights say which pixels go together. One
weight that is 1 everywhere is one number per class; plane waves are smooth
fields.
"""

import torch
from torch import Tensor

from ..utils.precision import full_precision
from .gumbel import GumbelNoise
from .kernels import Tile


def unit_norm(weights: Tensor) -> Tensor:
    """Weights (B, R, H, W) divided by their norm over R.

    Where there is none, all are alike: a pixel without noise would be drawn
    with certainty.
    """
    weights = weights.float()
    norm = torch.linalg.vector_norm(weights, dim=1, keepdim=True)
    even = weights.shape[1] ** -0.5
    return torch.where(norm < 1e-6, even, weights / norm.clamp_min(1e-6))


class WeightedField(GumbelNoise):
    """Fields of a batch of images.

    Args:
        weights: (B, R, H, W), of norm 1 at every pixel.
    """

    def __init__(self, weights: Tensor) -> None:
        self.weights = weights

    def normal(self, z: Tensor, tile: Tile) -> Tensor:
        """Sums (S, B, K, h, w) of K * R numbers per sample and image."""
        weights = self.weights[(..., *tile)]  # (B, R, h, w)
        z = z.unflatten(-1, (-1, weights.shape[1]))  # (S, B, K, R)
        with full_precision(z):
            field = z @ weights.flatten(2)  # (S, B, K, h * w)
        return field.unflatten(-1, weights.shape[2:])
