"""The generator of the authors' published code, smaller than the paper's."""

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least, channels
from ..parts import SLOPE
from .base import BaseGenerator

_NOISE_SLOPE = 0.01


class NoiseInjector(nn.Module):
    """(features + shift) * scale, both from noise, then a 1x1 convolution.

    Args:
        in_channels: Channels of the features.
        noise_size: Length of the noise.
        out_channels: Channels of the result.
    """

    def __init__(
        self, in_channels: int, noise_size: int, out_channels: int
    ) -> None:
        super().__init__()
        self.shift = nn.Linear(noise_size, in_channels)
        self.scale = nn.Linear(noise_size, in_channels)
        self.conv = nn.Conv2d(in_channels, out_channels, 1)
        for linear in (self.shift, self.scale):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        nn.init.orthogonal_(self.conv.weight)
        nn.init.trunc_normal_(self.conv.bias, std=1e-3, a=-2e-3, b=2e-3)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Let noise (B, d) into features (B, C, h, w)."""
        shift, scale = (
            linear(z)[..., None, None] for linear in (self.shift, self.scale)
        )
        return self.conv((x + shift) * scale)


@MODELS.register_module()
class AuthorsUNet(BaseGenerator):
    """The generator of the authors' code: noise at three places.

    Where :class:`RefinementUNet` follows the paper, this one follows what was
    published with it. The up blocks are transposed 2x2 convolutions and
    nothing else, the finest skip connection has half the size of the image,
    and noise enters behind the second and the third up block and at the
    output. The samples of an image are decoded one by one, so that batch norm
    takes the statistics of each apart. Any image size is accepted.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image, C.
        noise_size: Length of the noise.
        base_channels: Channels of the first level, doubled per level.
        dropout: Dropout probability in every block.
        kwargs: Further arguments of :class:`BaseGenerator`.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        noise_size: int = 8,
        base_channels: int = 32,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        at_least(2, num_classes=num_classes)
        at_least(1, in_channels=in_channels, base_channels=base_channels)
        super().__init__(noise_size, **kwargs)
        self.num_classes = num_classes
        self.in_channels = in_channels
        a, b, c, d = (base_channels * factor for factor in (1, 2, 4, 8))
        widths = [in_channels + num_classes, a, b, c, d]
        self.down = nn.ModuleList(
            _block(nn.Conv2d(i, o, 3, stride=2, padding=1), dropout)
            for i, o in pairwise(widths)
        )
        # All but the first see a skip connection beside what comes from below.
        self.up = nn.ModuleList(
            _block(nn.ConvTranspose2d(i, o, 2, stride=2), dropout)
            for i, o in ((d, c), (2 * c, b), (2 * b, a), (2 * a, a))
        )
        self.noise = nn.ModuleList(
            NoiseInjector(i, noise_size, o)
            for i, o in ((b, b), (a, a), (a, num_classes))
        )

    def encode(self, image: Tensor, log_probs: Tensor) -> list[Tensor]:
        """Run the encoder.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).

        Returns:
            Its input, and features at 1/2, 1/4, 1/8 and 1/16 of the size.
        """
        channels(image, **{'generator.in_channels': self.in_channels})
        levels = [torch.cat((image, log_probs.exp()), dim=1)]
        for block in self.down:
            levels.append(block(levels[-1]))
        return levels

    def decode(self, features: list[Tensor], z: Tensor) -> Tensor:
        """Return logits (s, B, K, H, W) for noise ``z`` (s, B, d)."""
        return torch.stack([self._decode_one(features, one) for one in z])

    def _decode_one(self, features: list[Tensor], z: Tensor) -> Tensor:
        """Logits (B, K, H, W) of one sample per image, noise (B, d)."""
        inputs, *skips, x = features
        x = self.up[0](x)
        for index, skip in enumerate(reversed(skips)):
            x = x[..., : skip.shape[-2], : skip.shape[-1]]  # odd sizes
            x = self.up[index + 1](torch.cat((x, skip), dim=1))
            x = self.noise[index](x, z)
            if index < 2:  # the last of them makes the logits
                x = F.leaky_relu(x, _NOISE_SLOPE)
        return x[..., : inputs.shape[-2], : inputs.shape[-1]]


def _block(conv: nn.Module, dropout: float) -> nn.Sequential:
    rest = nn.BatchNorm2d(conv.out_channels), nn.LeakyReLU(SLOPE)
    return nn.Sequential(conv, *rest, nn.Dropout(dropout))
