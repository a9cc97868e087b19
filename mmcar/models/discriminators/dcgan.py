"""The paper's discriminator."""

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

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        base_channels: int = 64,
        depth: int = 4,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(
            num_classes, in_channels, base_channels, depth, init_cfg
        )
        self.logit = nn.Conv2d(self.out_channels, 1, 4)

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N,)."""
        return self.logit(F.adaptive_avg_pool2d(features, 4)).flatten()
