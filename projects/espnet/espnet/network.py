"""ESPNet: an efficient spatial pyramid of dilated convolutions.

After S. Mehta et al., ECCV 2018. Parts are named as in the weights that the
authors published, so that these load as they are.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DILATIONS = (1, 2, 4, 8, 16)


class Conv(nn.Module):
    """A convolution without bias that keeps the size, or halves it."""

    def __init__(
        self, inner: int, outer: int, kernel: int, stride: int = 1, d: int = 1
    ) -> None:
        super().__init__()
        padding = kernel // 2 * d
        self.conv = nn.Conv2d(
            inner, outer, kernel, stride, padding, d, bias=False
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H / stride, W / stride)."""
        return self.conv(x)


class NormAct(nn.Module):
    """Batch norm and a PReLU with a slope per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(channels, eps=1e-3)
        self.act = nn.PReLU(channels)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> the same shape."""
        return self.act(self.bn(x))


class ConvNormAct(Conv):
    """A convolution, batch norm and PReLU."""

    def __init__(
        self, inner: int, outer: int, kernel: int, stride: int = 1
    ) -> None:
        super().__init__(inner, outer, kernel, stride)
        self.bn = nn.BatchNorm2d(outer, eps=1e-3)
        self.act = nn.PReLU(outer)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H / stride, W / stride)."""
        return self.act(self.bn(self.conv(x)))


class Pyramid(nn.Module):
    """The ESP unit: reduce, split into dilations, merge by running sums.

    Args:
        inner: Channels of the input.
        outer: Channels of the output.
        kernel: Of the reduction.
        stride: Of the reduction.
    """

    def __init__(
        self, inner: int, outer: int, kernel: int = 1, stride: int = 1
    ) -> None:
        super().__init__()
        thin = outer // len(DILATIONS)
        first = outer - (len(DILATIONS) - 1) * thin
        self.c1 = Conv(inner, thin, kernel, stride)
        for dilation in DILATIONS:
            wide = first if dilation == 1 else thin
            self.add_module(f'd{dilation}', Conv(thin, wide, 3, d=dilation))

    def merge(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H / stride, W / stride)."""
        reduced = self.c1(x)
        first, *others = (getattr(self, f'd{d}')(reduced) for d in DILATIONS)
        sums = torch.stack(others, 1).cumsum(1).flatten(1, 2)
        return torch.cat((first, sums), 1)


class Down(Pyramid):
    """An ESP unit that halves the size."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__(inner, outer, 3, 2)
        self.bn = nn.BatchNorm2d(outer, eps=1e-3)
        self.act = nn.PReLU(outer)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H / 2, W / 2)."""
        return self.act(self.bn(self.merge(x)))


class Block(Pyramid):
    """An ESP unit, with the input added where the channels are the same."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__(inner, outer)
        self.bn = NormAct(outer)
        self.residual = inner == outer

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H, W)."""
        merged = self.merge(x)
        return self.bn(x + merged if self.residual else merged)


class Encoder(nn.Module):
    """ESPNet-C, with features of three levels."""

    def __init__(
        self, num_classes: int, p: int, q: int, image_in_decoder: bool
    ) -> None:
        super().__init__()
        self.image_in_decoder = image_in_decoder
        self.level1 = ConvNormAct(3, 16, 3, 2)
        self.b1 = NormAct(19)
        self.level2_0 = Down(19, 64)
        self.level2 = nn.Sequential(*(Block(64, 64) for _ in range(p)))
        self.b2 = NormAct(131)
        self.level3_0 = Down(131, 128)
        self.level3 = nn.Sequential(*(Block(128, 128) for _ in range(q)))
        self.b3 = NormAct(256)
        self.classifier = Conv(256, num_classes, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Images (B, 3, H, W) -> features of half, quarter, eighth size."""
        half, quarter = _halved(x), _halved(_halved(x))
        first = self.level1(x)
        joined = self.b1(torch.cat((first, half), 1))
        start = self.level2_0(joined)
        second = torch.cat((self.level2(start), start, quarter), 1)
        second = self.b2(second)
        start = self.level3_0(second)
        third = self.b3(torch.cat((start, self.level3(start)), 1))
        finest = joined if self.image_in_decoder else first
        return finest, second, self.classifier(third)


class ESPNet(nn.Module):
    """ESPNet, with its light decoder.

    Args:
        num_classes: Number of classes K, void included.
        p: Units of the second level.
        q: Units of the third.
        image_in_decoder: The decoder sees the image, too, at half size: the
            published weights of CamVid do, those of Cityscapes do not.
    """

    def __init__(
        self,
        num_classes: int,
        p: int = 2,
        q: int = 8,
        image_in_decoder: bool = False,
    ) -> None:
        super().__init__()
        k = num_classes
        self.encoder = Encoder(k, p, q, image_in_decoder)
        self.level3_C = Conv(131, k, 1)
        self.br = nn.BatchNorm2d(k, eps=1e-3)
        self.conv = ConvNormAct((19 if image_in_decoder else 16) + k, k, 3)
        self.up_l3 = nn.Sequential(_doubling(k))
        self.combine_l2_l3 = nn.Sequential(NormAct(2 * k), Block(2 * k, k))
        self.up_l2 = nn.Sequential(_doubling(k), NormAct(k))
        self.classifier = _doubling(k)

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) -> logits (B, K, H, W); sides multiples of 8."""
        first, second, third = self.encoder(images)
        third = self.up_l3(self.br(third))
        joined = torch.cat((self.level3_C(second), third), 1)
        joined = self.up_l2(self.combine_l2_l3(joined))
        return self.classifier(self.conv(torch.cat((joined, first), 1)))


def _halved(images: Tensor) -> Tensor:
    return F.avg_pool2d(images, 3, 2, 1)


def _doubling(channels: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(channels, channels, 2, 2, bias=False)
