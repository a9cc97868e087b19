"""The discriminator of the authors' published code."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.errors import UserError
from .dcgan import BaseDiscriminator

_SLOPE = 0.2


@MODELS.register_module()
class AuthorsDiscriminator(BaseDiscriminator):
    """One logit per label map, from a linear layer over all last features.

    Three 3x3 convolutions at the full size of the image, then 4x4 ones:
    ``depth`` that halve the size, one that widens and one that narrows. The
    linear layer ties it to one size of images.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image, C.
        depth: Number of convolutions that halve the size.
        image_size: Height and width of the images.
        kwargs: Further arguments of :class:`BaseDiscriminator`.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        depth: int = 3,
        image_size: tuple[int, int] = (128, 128),
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, in_channels, depth=depth, **kwargs)
        # As one convolution over both would start; it is written as two.
        bound = (9 * (in_channels + num_classes)) ** -0.5
        for conv in (self.conv_image, self.conv_label):
            nn.init.uniform_(conv.weight, -bound, bound)
        self.image_size = tuple(image_size)
        # The first of the strided convolutions pads twice, the others once.
        height, width = (
            (side // 2 + 1) // 2 ** (depth - 1) - 2 for side in self.image_size
        )
        if min(height, width) < 1:
            raise UserError(
                f'discriminator.image_size={image_size}: too small for '
                f'depth={depth}'
            )
        self.logit = nn.Linear(self.out_channels * height * width, 1)

    def _first_conv(self, in_channels: int, out_channels: int) -> nn.Conv2d:
        return _full_size_conv(in_channels, out_channels)

    def _build_blocks(
        self, base_channels: int, depth: int
    ) -> tuple[nn.Module, int]:
        base = base_channels
        convs = [_full_size_conv(base, base) for _ in range(2)]
        convs += [nn.Conv2d(base, base, 4, 2, padding=1)]
        width = base
        for level in range(1, depth + 1):
            wider = base * min(2**level, 8)
            stride = 1 if level == depth else 2
            convs += [nn.Conv2d(width, wider, 4, stride, 1, bias=False)]
            width = wider
        convs += [nn.Conv2d(width, base, 4, padding=1)]
        blocks = [nn.Sequential(c, nn.LeakyReLU(_SLOPE)) for c in convs]
        blocks.insert(2, nn.ReflectionPad2d(1))  # on top of its zeros
        return nn.Sequential(*blocks), base

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N,)."""
        return self.logit(features.flatten(1)).flatten()

    def forward(
        self, image: Tensor, label_map: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Judge label maps of the one size that the linear layer fits."""
        if tuple(image.shape[-2:]) != self.image_size:
            raise UserError(
                f'discriminator.image_size={self.image_size}, but images of '
                f'another size arrive, {tuple(image.shape[-2:])}: its linear '
                'layer fits one size only. Set image_size to the size of the '
                'training crops.'
            )
        return super().forward(image, label_map, mask)


def _full_size_conv(in_channels: int, out_channels: int) -> nn.Conv2d:
    return nn.Conv2d(
        in_channels, out_channels, 3, padding=1, padding_mode='reflect'
    )
