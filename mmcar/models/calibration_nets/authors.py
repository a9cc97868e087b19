"""The calibration nets of the authors' published code."""

from typing import Any

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import agree, at_least
from ..parts import mirrored_conv
from .base import ConvNetCalibration

# Width and number of the convolutions of each stage.
VGG19 = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))


@MODELS.register_module()
class AuthorsConvCalibration(ConvNetCalibration):
    """The authors' net on top of a black box, where theirs is not the paper's.

    Four blocks (the paper: five) of 3x3 convolution, dropout, batch norm and
    leaky ReLU, then a 3x3 convolution to the classes with dropout behind it;
    borders are mirrored.

    Args:
        channels: Channels of every block.
        num_blocks: Number of blocks.
        dropout: Dropout probability.
        kwargs: Further arguments of :class:`ConvNetCalibration`.
    """

    def __init__(
        self,
        *,
        channels: int = 64,
        num_blocks: int = 4,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        at_least(1, channels=channels, num_blocks=num_blocks)
        layers: list[nn.Module] = []
        for i in [self.input_channels] + [channels] * (num_blocks - 1):
            layers += [mirrored_conv(i, channels), nn.Dropout(dropout)]
            layers += [nn.BatchNorm2d(channels), nn.LeakyReLU(0.2)]
        layers += [mirrored_conv(channels, self.num_classes)]
        layers += [nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        return self.layers(x)


class VGGEncoder(BaseModule):
    """VGG-19 with batch norm, and dropout behind every ReLU.

    Its parameters have the names of torchvision's ``vgg19_bn``.

    Args:
        in_channels: Channels of the input.
        dropout: Dropout probability.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self, in_channels: int, dropout: float, init_cfg: dict | None = None
    ) -> None:
        super().__init__(init_cfg)
        self.dropout = dropout
        layers: list[nn.Module] = []
        for width, number in VGG19:
            for _ in range(number):
                layers += [nn.Conv2d(in_channels, width, 3, padding=1)]
                layers += [nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                in_channels = width
            # Rounding up accepts every size, down to one pixel.
            layers += [nn.MaxPool2d(2, ceil_mode=True)]
        self.features = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Features (B, C, h, w) behind each pooling, at 1/2 to 1/32."""
        levels = []
        for layer in self.features:
            x = layer(x)
            if isinstance(layer, nn.ReLU):
                x = F.dropout(x, self.dropout, self.training)
            elif isinstance(layer, nn.MaxPool2d):
                levels.append(x)
        return levels


class VGGUpBlock(nn.Module):
    """A transposed convolution, then blocks; each may be applied repeatedly.

    Args:
        in_channels: Channels of the input.
        blocks: Output channels of each block and how often it is applied, by
            the name of its weights.
        dropout: Dropout probability.
    """

    def __init__(
        self,
        in_channels: int,
        blocks: dict[str, tuple[int, int]],
        dropout: float,
    ) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(in_channels, in_channels, 2, stride=2)
        self.repeats = {name: number for name, (_, number) in blocks.items()}
        for name, (width, _) in blocks.items():
            setattr(self, name, _relu_block(in_channels, width, dropout))
            in_channels = width

    def forward(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        """Double the size of (B, C, h, w), up to ``size``."""
        x = self.up(x)[..., : size[0], : size[1]]
        for name, number in self.repeats.items():
            for _ in range(number):
                x = getattr(self, name)(x)
        return x


@MODELS.register_module()
class VGGCalibration(ConvNetCalibration):
    """The authors' F for LIDC, which the paper calls SegNet.

    Encoder of VGG-19 with batch norm; the decoder concatenates its pooled
    features. Convolutions in the middle of an up block share their weights.

    Args:
        encoder_weights: File or address of weights for the encoder, with the
            names of torchvision's ``vgg19_bn``; None: random ones.
        dropout: Dropout probability.
        kwargs: Further arguments of :class:`ConvNetCalibration`.
    """

    def __init__(
        self,
        *,
        encoder_weights: str | None = None,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        pretrained = None
        if encoder_weights is not None:
            needed = {'channels of calibration.encoder_weights': 3}
            agree({**needed, 'channels that F sees': self.input_channels})
            pretrained = dict(type='Pretrained', checkpoint=encoder_weights)
        self.encoder = VGGEncoder(self.input_channels, dropout, pretrained)
        self.deepest = VGGUpBlock(512, dict(block=(512, 4)), dropout)
        self.up = nn.ModuleList()
        for width, out, repeats in (
            (1024, 256, 2),
            (512, 128, 2),
            (256, 64, 0),
            (128, self.num_classes, 0),
        ):
            blocks = dict(first=(width // 2, 1), middle=(width // 2, repeats))
            blocks = {k: block for k, block in blocks.items() if block[1]}
            blocks['last'] = (out, 1)
            self.up.append(VGGUpBlock(width, blocks, dropout))
        self.logits = mirrored_conv(self.num_classes, self.num_classes)

    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""
        *levels, bottom = self.encoder(x)
        sizes = [tuple(level.shape[-2:]) for level in (x, *levels)]
        out = self.deepest(bottom, sizes.pop())
        for block in self.up:
            out = block(torch.cat((levels.pop(), out), 1), sizes.pop())
        return self.logits(out)


def _relu_block(
    in_channels: int, out_channels: int, dropout: float
) -> nn.Sequential:
    conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
    nn.init.kaiming_normal_(conv.weight)
    nn.init.zeros_(conv.bias)
    rest = nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True)
    return nn.Sequential(conv, *rest, nn.Dropout(dropout))
