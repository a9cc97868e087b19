"""Convolutions: the order of numbers in memory, and a decoder that is folded.

On CPUs channels last is the fastest order: it gains 1.46 times in a step of
the recipe's G at 64x64, 1.04 to 1.06 times in steps of the paper's networks.
Other devices keep what the user chose: nothing was measured there.

The decoder of a U-Net generator at test time, with fewer operations, gains
1.4 to 1.6 times at 128x128 and 1.7 to 2.3 times at 256x512 over the plain
decoder in the chunks that suit it best, by processor; one that resizes gains
nothing and is not folded. Between the noise of one block and that of the next
everything is linear: transposed convolution, convolution, sum with the skip
connection, batch norm with fixed statistics. It folds into one transposed
convolution per sample and one map per image, and the noise's scale and shift
into its weights. One map at a time stays in the cache.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

# Types of devices where channels last is faster, by measurement.
CHANNELS_LAST = ('cpu',)


def fast_layout(maps: Tensor) -> Tensor:
    """Maps (N, C, H, W) in the order that is fastest on their device."""
    if maps.device.type not in CHANNELS_LAST:
        return maps
    return maps.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def lay_out_weights(network: nn.Module) -> None:
    """Bring a network's convolutions into that order; values do not change.

    Every step of training asks for it; the first finds something to do.
    """
    for weight in network.parameters():
        if weight.dim() != 4 or weight.device.type not in CHANNELS_LAST:
            continue
        # Strides decide, also of 1x1 kernels, whose numbers stay in place:
        # DDP wants those of the gradients.
        _, inputs, height, width = weight.shape
        strides = (inputs * height * width, 1, width * inputs, inputs)
        if weight.stride() != strides:
            last = torch.empty_like(weight, memory_format=torch.channels_last)
            # The data only: optimisers hold the parameter itself.
            weight.data = last.copy_(weight)


# Features below this number are decoded faster in batches of samples.
MIN_FEATURES = 2**18


def seen_through(up: Tensor, conv: Tensor) -> Tensor:
    """One kernel for a transposed convolution and a convolution behind it.

    A 2x2 kernel seen through a 3x3 one is a 4x4 kernel. The second correlates
    and the first spreads, hence the flip. In training, too, it gains: 1.17
    times in a step of the paper's G on LIDC.

    Args:
        up: (C, C', 2, 2), of stride 2 and no padding.
        conv: (C'', C', 3, 3), of padding 1.

    Returns:
        (C, C'', 4, 4) of a transposed convolution, stride 2, padding 1.
    """
    return F.conv_transpose2d(up, conv.flip(2, 3).transpose(0, 1))


class FoldedBlock(NamedTuple):
    """An up block for a batch of images.

    Attributes:
        block: The block itself.
        weight: (C, C', 4, 4) of a transposed convolution with stride 2 and
            padding 1.
        skip: What is added to its result for every sample (B, C', h, w).
        scale: Of the norm behind (C',).
        shift: Of the norm behind (C',).
    """

    block: Any
    weight: Tensor
    skip: Tensor
    scale: Tensor
    shift: Tensor

    def run(self, x: Tensor, image: int, noise: Tensor) -> Tensor:
        """Run the block for one image and one noise vector.

        Args:
            x: Features (1, C, h, w) of the block before.
            image: Its place in the batch.
            noise: What scales and shifts features (d,).

        Returns:
            Features (1, C', 2h, 2w).
        """
        scale, shift = self.block.film(noise).chunk(2)
        scale = scale + self.block.scale_offset
        shift = torch.addcmul(shift, scale, self.shift)
        scale = (scale * self.scale).view(1, -1, 1, 1)
        weight = self.weight * scale
        x = F.conv_transpose2d(x, weight, shift, stride=2, padding=1)
        x.addcmul_(self.skip[image : image + 1], scale)
        return F.leaky_relu_(x, self.block.slope)


class FoldedDecoder(NamedTuple):
    """All up blocks, of which the first runs up to its noise once per image.

    Attributes:
        first: The first block.
        base: Its features before the noise (B, C, h, w).
        blocks: The others, folded.
        to_logits: The 1x1 convolution behind them.
    """

    first: Any
    base: Tensor
    blocks: list[FoldedBlock]
    to_logits: Any

    def decode(self, z: Tensor) -> Tensor:
        """The network's logits (s, B, K, H, W), map by map.

        Args:
            z: What scales and shifts features (s, B, d).
        """
        size = self.blocks[-1].skip.shape[-2:]
        out_channels = self.to_logits.out_channels
        logits = z.new_empty(*z.shape[:2], out_channels, *size)
        to_classes = self.to_logits.weight.flatten(1)  # (K, C)
        for s, b in itertools.product(*map(range, z.shape[:2])):
            base, noise = self.base[None, b : b + 1], z[s, b]
            x = self.first.modulate(base, noise[None, None])
            for block in self.blocks:
                x = block.run(x, b, noise)
            pixels = x[0].permute(1, 2, 0).flatten(0, 1)  # (H * W, C)
            out = logits[s, b].flatten(1)
            torch.mm(to_classes, pixels.T, out=out)
            out += self.to_logits.bias[:, None]
        return logits

    def may_run(self) -> bool:
        """Whether it may take the plain decoder's place, here and now."""
        if torch.is_grad_enabled() or torch.is_autocast_enabled('cpu'):
            return False
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return False  # compilers fuse the plain decoder by themselves
        return not self.first.training


def fold(
    blocks: Sequence[Any],
    to_logits: Any,
    base: Tensor,
    skips: Sequence[Tensor],
) -> FoldedDecoder | None:
    """Fold up blocks, where that is possible and gains.

    Args:
        blocks: All up blocks.
        to_logits: The 1x1 convolution behind them.
        base: Features of the first, before its noise (B, C, h, w).
        skips: ``conv_skip`` of the others' skip connections.

    Returns:
        None in training, on other devices, with norms that have no fixed
        statistics, for small maps, and for sizes that do not double.
    """
    folded = FoldedDecoder(blocks[0], base, [], to_logits)
    small = not skips or skips[-1][0].numel() < MIN_FEATURES
    if small or base.device.type != 'cpu' or not folded.may_run():
        return None
    for block, x, skip in zip(blocks[1:], [base, *skips], skips, strict=False):
        affine = _affine(block.norm, block.conv.out_channels)
        if affine is None or not block.doubles(x, skip):
            return None
        weight = seen_through(block.up.weight, block.conv.weight)
        added = skip + block.convolved_bias(skip.shape[-2:])
        weight, added = fast_layout(weight), fast_layout(added)
        folded.blocks.append(FoldedBlock(block, weight, added, *affine))
    return folded


def _affine(norm: Any, channels: int) -> tuple[Tensor, Tensor] | None:
    """Scale and shift (C,) of a norm with fixed statistics, else None."""
    if isinstance(norm, nn.Identity):
        return torch.ones(channels), torch.zeros(channels)
    fixed = isinstance(norm, nn.BatchNorm2d) and not norm.training
    if not fixed or norm.running_mean is None:
        return None
    own = norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
    scale, shift = fuse_conv_bn_weights(torch.ones(channels, 1), None, *own)
    return scale.flatten(), shift
