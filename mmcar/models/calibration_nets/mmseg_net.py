"""Any of MMSeg's models as F, on the whole image or on its centre."""

import math
from typing import Any

import torch.nn.functional as F
from mmseg.models.backbones import UNet
from mmseg.models.utils import resize
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import agree, at_least
from ...utils.errors import UserError
from .base import BaseCalibration


@MODELS.register_module()
class MMSegCalibration(BaseCalibration):
    """Any registered MMSeg ``backbone`` and ``decode_head`` as F.

    With a black box, the backbone's ``in_channels`` must count the channels
    of the image and ``black_box_classes``. Images of any size are taken:
    where the backbone needs multiples of its stride, they are padded inside.

    Args:
        num_classes: Number of classes, K; handed to the decode head.
        backbone: Config of the backbone.
        decode_head: Config of the decode head.
        neck: Config of a neck in between.
        kwargs: Further arguments of :class:`BaseCalibration`.
    """

    def __init__(
        self,
        num_classes: int,
        backbone: dict,
        decode_head: dict,
        neck: dict | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, **kwargs)
        self.backbone = MODELS.build(backbone)
        if 'in_channels' in backbone:
            self.in_channels = backbone['in_channels'] - self.black_box_classes
        self.neck = None if neck is None else MODELS.build(neck)
        head = MODELS.build({'num_classes': num_classes, **decode_head})
        found = {'calibration.decode_head.out_channels': head.out_channels}
        agree({**found, 'num_classes': num_classes})
        self.decode_head = head
        self.divisor = size_divisor(self.backbone)
        self.start_as_black_box()

    @property
    def last_layer(self) -> nn.Module | None:
        """The layer that gives the logits, of MMSeg's usual decode heads."""
        return getattr(self.decode_head, 'conv_seg', None)

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        height, width = x.shape[2:]
        if self.divisor > 1:
            # Even by nothing: a trace would keep what its example needs.
            bottom, right = -height % self.divisor, -width % self.divisor
            x = F.pad(x, (0, right, 0, bottom), mode='replicate')
        features = self.backbone(x)
        if self.neck is not None:
            features = self.neck(features)
        logits = self.decode_head(features)
        corners = self.decode_head.align_corners
        logits = resize(logits, x.shape[2:], None, 'bilinear', corners)
        return logits[..., :height, :width]


def size_divisor(backbone: nn.Module) -> int:
    """What the sides of a backbone's input must be multiples of.

    Most backbones round sizes as they go; UNet refuses odd ones.
    """
    if not isinstance(backbone, UNet):
        return 1
    first, *strides = backbone.strides
    pairs = zip(backbone.downsamples, strides, strict=False)
    halved = [pooled or stride == 2 for pooled, stride in pairs]
    return 2 ** (sum(halved) + (first == 2))


@MODELS.register_module()
class CenterCalibration(MMSegCalibration):
    """F sees the central part of the image; around it lies background.

    Where images are centred on what is sought, as crops of LIDC are (99.7 %
    of what annotators mark lies in the central quarter), a net that sees
    nothing else trains several times as fast. What it predicts is a map of the
    whole image, and is scored as such.

    Args:
        num_classes: Number of classes, K; class 0 is the background.
        crop_size: Height and width of what the net sees.
        outside: Probability of each other class around it.
        kwargs: Arguments of :class:`MMSegCalibration`.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        crop_size: int,
        outside: float = 1e-4,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, **kwargs)
        if not 0 < outside < 1 / num_classes:
            raise UserError(
                f'calibration.outside={outside}: expected < 1 / {num_classes}'
            )
        at_least(1, crop_size=crop_size)
        self.crop_size = crop_size
        self.background = -math.log(outside) + math.log1p(
            (1 - num_classes) * outside
        )

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C, H, W) to logits (B, K, H, W)."""
        rows, columns = (self._window(length) for length in x.shape[2:])
        logits = super().predict_logits(x[..., rows, columns])
        full = logits.new_zeros(*logits.shape[:2], *x.shape[2:])
        full[:, 0] = self.background
        full[..., rows, columns] = logits
        return full

    def _window(self, length: int) -> slice:
        start = max(length - self.crop_size, 0) // 2
        return slice(start, start + self.crop_size)
