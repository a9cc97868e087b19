"""The paper's discriminator."""

from typing import Any

import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from .base import BaseDiscriminator


@MODELS.register_module()
class DCGANDiscriminator(BaseDiscriminator):
    """One logit per label map, for images of any size.

    With images of 64x64 it is DCGAN's discriminator; at other sizes the last
    features are averaged over a 4x4 grid. Arguments as in
    :class:`BaseDiscriminator`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logit = nn.Conv2d(self.out_channels, 1, 4)

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N,)."""
        return self.logit(F.adaptive_avg_pool2d(features, 4)).flatten()
