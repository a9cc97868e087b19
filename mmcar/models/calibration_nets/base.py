"""What every calibration net F shares.

A net has ``num_classes`` and is called with ``(image, black_box_probs,
data_samples)``; it returns logits (B, K, H, W) at the size of the image.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from mmcv.cnn import ConvModule
from mmengine.model import BaseModule
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...utils.checks import at_least
from ...utils.errors import UserError


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


def conv_block(
    in_channels: int, out_channels: int, norm_cfg: dict | None, dropout: float
) -> nn.Sequential:
    """Convolution 3x3, norm, leaky ReLU, dropout."""
    conv = ConvModule(
        in_channels,
        out_channels,
        3,
        padding=1,
        norm_cfg=norm_cfg,
        act_cfg={'type': 'LeakyReLU', 'negative_slope': 0.2},
    )
    return nn.Sequential(conv, nn.Dropout(dropout))


def conv_stage(
    widths: Sequence[int], norm_cfg: dict | None, dropout: float
) -> nn.Sequential:
    """Blocks from each width to the next."""
    return nn.Sequential(
        *(conv_block(i, o, norm_cfg, dropout) for i, o in pairwise(widths))
    )
