"""A discriminator of overlapping patches."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from .base import BaseDiscriminator


@MODELS.register_module()
class PatchDiscriminator(BaseDiscriminator):
    """One logit per overlapping patch; arguments as in the base class."""

    def __init__(
        self,
        num_classes: int,
        depth: int = 3,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, depth=depth, **kwargs)
        self.logit = nn.Conv2d(self.out_channels, 1, 3, padding=1)

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N, h, w)."""
        return self.logit(features).squeeze(1)
