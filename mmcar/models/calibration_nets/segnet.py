"""The paper's F for LIDC."""

from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least
from .base import ConvNetCalibration, conv_stage


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
            down = [before] + [width] * convs
            up = [width] * convs + [after]
            self.down.append(conv_stage(down, norm_cfg, dropout))
            self.up.insert(0, conv_stage(up, norm_cfg, dropout))
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
