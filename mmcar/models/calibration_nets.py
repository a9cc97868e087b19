"""Calibration nets F: image (and the black box's output) -> class logits.

Every net has ``num_classes`` and is called with ``(image, black_box_probs,
data_samples)``; it returns logits (B, K, H, W) at the size of the image.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from mmcv.cnn import ConvModule
from mmengine.model import BaseModule
from mmseg.models.utils import resize
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ..utils.checks import at_least
from ..utils.errors import UserError


class BaseCalibration(BaseModule):
    """A net that sees the image and, if there are any, B's probabilities.

    Args:
        num_classes: Number of classes, K.
        black_box_classes: Classes of the black box, 0 without one.
        symmetric: Outside training, average the probabilities over the flips
            and quarter turns of the image (eight views of a square one): a
            better F for eight times its work, where up is no direction.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        black_box_classes: int = 0,
        symmetric: bool = False,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(init_cfg)
        self.symmetric = symmetric
        at_least(2, num_classes=num_classes)
        at_least(0, black_box_classes=black_box_classes)
        self.num_classes = num_classes
        self.black_box_classes = black_box_classes

    @abstractmethod
    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return logits (B, K, H, W).

        Args:
            image: Normalised images (B, C, H, W).
            black_box_probs: Probabilities (B, black_box_classes, H, W).
            data_samples: Ignored here.
        """
        given = 0 if black_box_probs is None else black_box_probs.shape[1]
        if given != self.black_box_classes:
            raise UserError(
                f'calibration.black_box_classes={self.black_box_classes}, but '
                f'the black box predicts {given} classes: make them agree'
            )
        if black_box_probs is not None:
            image = torch.cat((image, black_box_probs), dim=1)
        if self.symmetric and not self.training:
            return self._average_views(image)
        return self.predict_logits(image)

    def _average_views(self, x: Tensor) -> Tensor:
        """Log of the mean probabilities (B, K, H, W) over all views."""
        square = x.shape[2] == x.shape[3]
        views = []
        for turns in range(0, 4, 1 if square else 2):
            turned = x.rot90(turns, (2, 3))
            for axes in ((), (3,)):
                logits = self.predict_logits(turned.flip(axes))
                log_probs = logits.log_softmax(1).flip(axes)
                views.append(log_probs.rot90(-turns, (2, 3)))
        return torch.stack(views).logsumexp(0) - math.log(len(views))


@MODELS.register_module()
class ConvCalibration(BaseCalibration):
    """The paper's net on top of a black box: convolutions at full size.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image.
        black_box_classes: Classes of the black box, 0 without one.
        channels: Channels of every block.
        num_blocks: Blocks of 3x3 convolution, norm, leaky ReLU, dropout.
        norm_cfg: Normalisation, or None for none.
        dropout: Dropout probability.
        symmetric: See :class:`BaseCalibration`.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        black_box_classes: int = 0,
        channels: int = 64,
        num_blocks: int = 5,
        norm_cfg: dict | None = {'type': 'BN'},  # noqa: B006
        dropout: float = 0.1,
        symmetric: bool = False,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(num_classes, black_box_classes, symmetric, init_cfg)
        at_least(1, in_channels=in_channels, channels=channels)
        at_least(1, num_blocks=num_blocks)
        inputs = in_channels + black_box_classes
        blocks = [
            _block(inputs if i == 0 else channels, channels, norm_cfg, dropout)
            for i in range(num_blocks)
        ]
        self.layers = nn.Sequential(
            *blocks, nn.Conv2d(channels, num_classes, 1)
        )

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        return self.layers(x)


@MODELS.register_module()
class SegNetCalibration(BaseCalibration):
    """SegNet: a VGG-like encoder whose decoder unpools by its indices.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image.
        black_box_classes: Classes of the black box, 0 without one.
        base_channels: Channels of the first stage, doubled per stage up to
            eightfold.
        stage_convs: Convolutions of each stage; VGG-16's by default.
        norm_cfg: Normalisation, or None for none.
        dropout: Dropout probability.
        symmetric: See :class:`BaseCalibration`.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        black_box_classes: int = 0,
        base_channels: int = 64,
        stage_convs: Sequence[int] = (2, 2, 3, 3, 3),
        norm_cfg: dict | None = {'type': 'BN'},  # noqa: B006
        dropout: float = 0.1,
        symmetric: bool = False,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(num_classes, black_box_classes, symmetric, init_cfg)
        at_least(1, in_channels=in_channels, base_channels=base_channels)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        before = in_channels + black_box_classes
        for stage, convs in enumerate(stage_convs):
            at_least(1, stage_convs=convs)
            width = base_channels * 2 ** min(stage, 3)
            after = base_channels if stage == 0 else before
            down = [before] + [width] * convs
            up = [width] * convs + [after]
            self.down.append(_stage(down, norm_cfg, dropout))
            self.up.insert(0, _stage(up, norm_cfg, dropout))
            before = width
        self.logits = nn.Conv2d(base_channels, num_classes, 1)

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


@MODELS.register_module()
class MMSegCalibration(BaseCalibration):
    """Any registered MMSeg ``backbone`` and ``decode_head`` as F.

    With a black box, the backbone's ``in_channels`` must count the channels
    of the image and ``black_box_classes``.

    Args:
        num_classes: Number of classes, K; handed to the decode head.
        backbone: Config of the backbone.
        decode_head: Config of the decode head.
        neck: Config of a neck in between.
        black_box_classes: Classes of the black box, 0 without one.
        symmetric: See :class:`BaseCalibration`.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        backbone: dict,
        decode_head: dict,
        neck: dict | None = None,
        black_box_classes: int = 0,
        symmetric: bool = False,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(num_classes, black_box_classes, symmetric, init_cfg)
        self.backbone = MODELS.build(backbone)
        self.neck = None if neck is None else MODELS.build(neck)
        head = MODELS.build({'num_classes': num_classes, **decode_head})
        if head.out_channels != num_classes:
            raise UserError(
                f'calibration.decode_head has {head.out_channels} output '
                f'channels: expected num_classes={num_classes}'
            )
        self.decode_head = head

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        features = self.backbone(x)
        if self.neck is not None:
            features = self.neck(features)
        logits = self.decode_head(features)
        return resize(
            logits,
            size=x.shape[2:],
            mode='bilinear',
            align_corners=self.decode_head.align_corners,
        )


def _block(
    in_channels: int, out_channels: int, norm_cfg: dict | None, dropout: float
) -> nn.Sequential:
    conv = ConvModule(
        in_channels,
        out_channels,
        3,
        padding=1,
        norm_cfg=norm_cfg,
        act_cfg={'type': 'LeakyReLU', 'negative_slope': 0.2},
    )
    return nn.Sequential(conv, nn.Dropout(dropout))


def _stage(
    widths: Sequence[int], norm_cfg: dict | None, dropout: float
) -> nn.Sequential:
    return nn.Sequential(
        *(_block(i, o, norm_cfg, dropout) for i, o in pairwise(widths))
    )
