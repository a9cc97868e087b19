"""Controls: simple samplers for the same F."""

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...sampling.kernels import gumbel_from_normal
from .base import BaseGenerator


@MODELS.register_module()
class ArgmaxSampler(BaseGenerator):
    """The decision, again and again: no diversity at all.

    Args:
        num_classes: Number of classes K.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__(noise_size=1, temperature=0.0)
        self.num_classes = num_classes

    def encode(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """There is nothing to encode: log_probs (B, K, H, W)."""
        return log_probs

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Logits (s, B, K, H, W), the same for every noise vector."""
        return features.expand(len(z), *features.shape)


@MODELS.register_module()
class IndependentPixelSampler(ArgmaxSampler):
    """Draws every pixel on its own: calibrated, but incoherent."""

    exportable = False

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Logits (s, B, K, H, W) with Gumbel noise of their own per pixel."""
        logits = super().decode(features, z).clone()
        for sample, vectors in zip(logits, z, strict=True):
            for image, vector in zip(sample, vectors, strict=True):
                # The noise vector is the seed, so that sampling stays pure.
                seed = int(vector.cpu().view(torch.int32)[0])
                random = torch.Generator().manual_seed(seed)
                normal = torch.randn(image.shape, generator=random)
                image += gumbel_from_normal(normal).to(image)
        return logits
