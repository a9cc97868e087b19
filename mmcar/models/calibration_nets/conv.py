"""The paper's F on top of a black box."""

from itertools import pairwise
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least
from .base import ConvNetCalibration, conv_block


@MODELS.register_module()
class ConvCalibration(ConvNetCalibration):
    """The paper's net on top of a black box: convolutions at full size.

    Args:
        channels: Channels of every block.
        num_blocks: Blocks of 3x3 convolution, norm, leaky ReLU, dropout.
        norm_cfg: Normalisation, or None for none.
        dropout: Dropout probability.
        kwargs: Further arguments of :class:`ConvNetCalibration`.
    """

    def __init__(
        self,
        *,
        channels: int = 64,
        num_blocks: int = 5,
        norm_cfg: dict | None = {'type': 'BN'},  # noqa: B006
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        at_least(1, channels=channels, num_blocks=num_blocks)
        widths = [self.input_channels] + [channels] * num_blocks
        blocks = [
            conv_block(before, after, norm_cfg, dropout)
            for before, after in pairwise(widths)
        ]
        self.layers = nn.Sequential(
            *blocks, nn.Conv2d(channels, self.num_classes, 1)
        )
        self.start_as_black_box()

    @property
    def last_layer(self) -> nn.Module:
        """The layer that gives the logits."""
        return self.layers[-1]

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        return self.layers(x)
