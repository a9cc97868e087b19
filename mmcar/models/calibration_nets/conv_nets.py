"""The paper's F: on top of a black box, and of the image alone."""

from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least
from ..parts import conv_blocks
from .base import ConvNetCalibration


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
        blocks = conv_blocks(widths, norm_cfg, dropout)
        logits = nn.Conv2d(channels, self.num_classes, 1)
        self.layers = nn.Sequential(*blocks, logits)
        self.start_as_black_box()

    @property
    def last_layer(self) -> nn.Module:
        """The layer that gives the logits."""
        return self.layers[-1]

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        return self.layers(x)


@MODELS.register_module()
class SegNetCalibration(ConvNetCalibration):
    """SegNet: a VGG-like encoder whose decoder unpools by its indices.

    Args:
        base_channels: Channels of the first stage, doubled per stage up to
            eightfold.
        stage_convs: Convolutions of each stage; VGG-16's by default.
        norm_cfg: Normalisation, or None for none.
        dropout: Dropout probability.
        kwargs: Further arguments of :class:`ConvNetCalibration`.
    """

    def __init__(
        self,
        *,
        base_channels: int = 64,
        stage_convs: Sequence[int] = (2, 2, 3, 3, 3),
        norm_cfg: dict | None = {'type': 'BN'},  # noqa: B006
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        at_least(1, base_channels=base_channels)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        before = self.input_channels
        for stage, convs in enumerate(stage_convs):
            at_least(1, stage_convs=convs)
            width = base_channels * 2 ** min(stage, 3)
            after = base_channels if stage == 0 else before
            down, up = [before] + [width] * convs, [width] * convs + [after]
            down, up = (conv_blocks(w, norm_cfg, dropout) for w in (down, up))
            self.down.append(nn.Sequential(*down))
            self.up.insert(0, nn.Sequential(*up))
            before = width
        self.logits = nn.Conv2d(base_channels, self.num_classes, 1)
        self.start_as_black_box()

    @property
    def last_layer(self) -> nn.Module:
        """The layer that gives the logits."""
        return self.logits

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        pools = []
        for stage in self.down:
            x = stage(x)
            size = x.shape[-2:]
            # Rounding up accepts every size, down to one pixel.
            x, index = F.max_pool2d(x, 2, ceil_mode=True, return_indices=True)
            pools.append((index, size))
        for stage in self.up:
            index, size = pools.pop()
            x = stage(F.max_unpool2d(x, index, 2, output_size=size))
        return self.logits(x)
