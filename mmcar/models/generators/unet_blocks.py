"""The blocks of the paper's generator."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmcv.cnn import build_norm_layer
from torch import Tensor, nn

from ...sampling.kernels import seen_through
from ..parts import SLOPE


class UpBlock(nn.Module):
    """Upsample, merge with a skip connection, scale and shift by noise.

    The convolution over [upsampled, skip] is written as the sum of two, so
    that the part of the skip runs once per image instead of per sample. In
    training, the other part is one with the transposed convolution before it:
    the same numbers by a third of the work.
    """

    slope = SLOPE

    def __init__(
        self,
        in_channels: int,
        skip_channels: int,
        out_channels: int,
        noise_size: int,
        norm_cfg: dict | None,
        dropout: float,
        film: str,
        upsample: str,
    ) -> None:
        super().__init__()
        self.resize = upsample == 'resize'
        if self.resize:
            self.up = nn.Conv2d(in_channels, out_channels, 1)
        else:
            self.up = nn.ConvTranspose2d(in_channels, out_channels, 2, 2)
        self.conv = nn.Conv2d(
            out_channels, out_channels, 3, padding=1, bias=False
        )
        self.conv_skip = nn.Conv2d(
            skip_channels, out_channels, 3, padding=1, bias=norm_cfg is None
        )
        norm = norm_cfg and build_norm_layer(norm_cfg, out_channels)[1]
        self.norm = norm or nn.Identity()
        # Two linear layers in one: scale and shift.
        self.film = nn.Linear(noise_size, 2 * out_channels)
        self.scale_offset = 1.0 if film == 'residual' else 0.0
        self.dropout = dropout
        # The variance of features stays: noise fades without that or norm.
        nn.init.normal_(self.up.weight, std=self.up.in_channels**-0.5)
        for conv in (self.conv, self.conv_skip):
            nn.init.kaiming_normal_(conv.weight, a=SLOPE)
            conv.weight.data.mul_(0.5**0.5)  # the two are added

    def merge(self, x: Tensor, skip: Tensor) -> Tensor:
        """Upsample and add the convolved skip connection.

        Args:
            x: Features (s * B, C, h, w) of the block before.
            skip: ``conv_skip`` of the skip connection (B, C', h', w').

        Returns:
            Normalised features (s, B, C', h', w').
        """
        groups = (-1, *skip.shape)  # len(skip) would be a constant in a trace
        if self.training and self.doubles(x, skip):
            weight = seen_through(self.up.weight, self.conv.weight)
            x = F.conv_transpose2d(x, weight, stride=2, padding=1)
            skip = skip + self.convolved_bias(skip.shape[-2:])
        else:
            size = skip.shape[-2:]
            x = self.up(x)
            if self.resize:
                x = F.interpolate(x, size, mode='bilinear')
            x = self.conv(x[..., : size[0], : size[1]])  # odd sizes
        x = x.reshape(groups) + skip
        return self.norm(x.flatten(0, 1)).reshape(groups)

    def doubles(self, x: Tensor, skip: Tensor) -> bool:
        """Whether the transposed convolution gives the skip's size exactly.

        Odd sizes are cut before the next convolution, which a kernel made of
        both cannot do.
        """
        doubled = [2 * side for side in x.shape[-2:]]
        return not self.resize and doubled == list(skip.shape[-2:])

    def convolved_bias(self, size: Sequence[int]) -> Tensor:
        """What the bias of `up` becomes by `conv`, (1, C', h, w).

        It is constant but for the border, so that 3x3 pixels tell it all.

        Args:
            size: Height and width, 2 at least.
        """
        x = self.conv(self.up.bias.view(1, -1, 1, 1).expand(-1, -1, 3, 3))
        for dim, side in ((2, size[0]), (3, size[1])):
            first, inner, last = x.split(1, dim)
            inner = inner.expand(
                *(side - 2 if d == dim else -1 for d in range(4))
            )
            x = torch.cat((first, inner, last), dim)
        return x

    def modulate(self, x: Tensor, z: Tensor) -> Tensor:
        """Let the noise in.

        Args:
            x: Features (s or 1, B, C, h, w).
            z: Noise (s, B, d).

        Returns:
            Features (s * B, C, h, w).
        """
        scale, shift = self.film(z)[..., None, None].chunk(2, dim=2)
        x = (x * (scale + self.scale_offset)).add_(shift)
        x = F.leaky_relu(x, SLOPE, inplace=True)
        if self.training and self.dropout > 0:
            x = F.dropout(x, self.dropout)
        return x.flatten(0, 1)
