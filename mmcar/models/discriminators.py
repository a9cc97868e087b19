"""Discriminators: image and label map -> realness logits.

None of them normalises: R1 needs double backward, and the logit of an image
must not depend on the rest of its batch.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any

import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor, nn

from ..sampling.kernels import fast_layout
from ..utils.checks import agree, at_least, channels
from ..utils.errors import UserError
from .parts import SLOPE, leaky_conv, mirrored_conv


class BaseDiscriminator(BaseModule):
    """DCGAN's stack of strided convolutions, without batch norm.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image, C.
        base_channels: Channels of the first convolution, doubled by each.
        depth: Number of convolutions, each of which halves the size.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        base_channels: int = 64,
        depth: int = 4,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(init_cfg)
        at_least(2, num_classes=num_classes)
        at_least(1, in_channels=in_channels, base_channels=base_channels)
        at_least(1, depth=depth)
        self.num_classes = num_classes
        self.min_size = 2**depth
        # One convolution over [image, label map], written as a sum: several
        # samples of an image share the first part.
        self.conv_image = self._first_conv(in_channels, base_channels)
        self.conv_label = self._first_conv(num_classes, base_channels)
        self.conv_label.register_parameter('bias', None)  # one is enough
        self.blocks, self.out_channels = self._build_blocks(
            base_channels, depth
        )

    def _first_conv(self, in_channels: int, out_channels: int) -> nn.Conv2d:
        """Build the convolution that sees the input, or a part of it."""
        return nn.Conv2d(in_channels, out_channels, 4, 2, 1)

    def _build_blocks(
        self, base_channels: int, depth: int
    ) -> tuple[nn.Module, int]:
        """Build what follows, and say how many channels come out of it."""
        widths = [base_channels * 2**level for level in range(depth)]
        blocks = [
            leaky_conv(i, o, 4, stride=2, padding=1)
            for i, o in pairwise(widths)
        ]
        return nn.Sequential(*blocks), widths[-1]

    @abstractmethod
    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N, ...)."""

    def forward(
        self, image: Tensor, label_map: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Judge label maps.

        Args:
            image: Images (B, C, H, W).
            label_map: One-hot labels or class probabilities (s * B, K, H, W):
                one map per image, then the next map per image, and so on.
            mask: 1 where pixels count, 0 where no map may carry a signal
                (B, 1, H, W).

        Returns:
            Logits (s * B,), or (s * B, h, w) of patches.
        """
        expected = self.conv_image.in_channels
        channels(image, **{'discriminator.in_channels': expected})
        if min(image.shape[-2:]) < self.min_size:
            raise UserError(
                f'discriminator.depth: images of {tuple(image.shape[-2:])} '
                f'pixels are below {self.min_size} per side; lower it'
            )
        per_image = (-1, len(image))
        if mask is not None:
            label_map = label_map.unflatten(0, per_image) * mask
            label_map = label_map.flatten(0, 1)
        x = self.conv_label(fast_layout(label_map)).unflatten(0, per_image)
        seen = self.conv_image(fast_layout(image))
        x = F.leaky_relu(x + seen, SLOPE, inplace=True)
        return self.classify(self.blocks(x.flatten(0, 1)))


@MODELS.register_module()
class DCGANDiscriminator(BaseDiscriminator):
    """One logit per label map, for images of any size.

    With images of 64x64 it is DCGAN's discriminator; at other sizes the last
    features are averaged over a 4x4 grid. Arguments as in
    :class:`BaseDiscriminator`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logit = nn.Conv2d(self.out_channels, 1, 4)

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N,)."""
        return self.logit(F.adaptive_avg_pool2d(features, 4)).flatten()


@MODELS.register_module()
class PatchDiscriminator(BaseDiscriminator):
    """One logit per overlapping patch; arguments as in the base class."""

    def __init__(
        self, num_classes: int, depth: int = 3, **kwargs: Any
    ) -> None:
        super().__init__(num_classes, depth=depth, **kwargs)
        self.logit = nn.Conv2d(self.out_channels, 1, 3, padding=1)

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N, h, w)."""
        return self.logit(features).squeeze(1)


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
        return mirrored_conv(in_channels, out_channels)

    def _build_blocks(
        self, base_channels: int, depth: int
    ) -> tuple[nn.Module, int]:
        base = base_channels
        convs = [mirrored_conv(base, base) for _ in range(2)]
        convs += [nn.Conv2d(base, base, 4, 2, padding=1)]
        width = base
        for level in range(1, depth + 1):
            wider = base * min(2**level, 8)
            stride = 1 if level == depth else 2
            convs += [nn.Conv2d(width, wider, 4, stride, 1, bias=False)]
            width = wider
        convs += [nn.Conv2d(width, base, 4, padding=1)]
        blocks = [nn.Sequential(c, nn.LeakyReLU(SLOPE)) for c in convs]
        blocks.insert(2, nn.ReflectionPad2d(1))  # on top of its zeros
        return nn.Sequential(*blocks), base

    def classify(self, features: Tensor) -> Tensor:
        """Turn features (N, C, h, w) into logits (N,)."""
        return self.logit(features.flatten(1)).flatten()

    def forward(
        self, image: Tensor, label_map: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Judge label maps of the one size that the linear layer fits."""
        expected = {'discriminator.image_size': self.image_size}
        agree({**expected, 'size of images': tuple(image.shape[-2:])})
        return super().forward(image, label_map, mask)
