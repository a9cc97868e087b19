"""The decoder of a U-Net generator at test time, with fewer operations.

Between the noise of one block and that of the next everything is linear:
transposed convolution, convolution, sum with the skip connection, batch norm
with fixed statistics. It folds into one transposed convolution per sample and
one map per image, and the noise's scale and shift into its weights.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models.generators.unet_blocks import seen_through

NHWC = torch.channels_last
# Features below this number are decoded faster in batches of samples.
MIN_FEATURES = 2**18


class FoldedBlock(NamedTuple):
    """The linear part of an up block, batch norm included.

    Attributes:
        weight: (C, C', 4, 4) of a transposed convolution with stride 2 and
            padding 1, or (C', C', 3, 3) of a convolution behind a resize.
        resize: Weight and bias of the 1x1 convolution before a resize; None
            for a transposed convolution.
        scale: Of batch norm (C',).
        shift: What batch norm and the bias of a transposed convolution add
            (C', 3, 3): at the corners, edges and inner pixels of a map.
    """

    weight: Tensor
    resize: tuple[Tensor, Tensor] | None
    scale: Tensor
    shift: Tensor


def may_fold(blocks: Iterable[Any]) -> bool:
    """Whether up blocks that can be folded may be; asked for every chunk."""
    if torch.is_grad_enabled() or torch.is_autocast_enabled('cpu'):
        return False
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False  # compilers fuse the plain decoder by themselves
    return not any(block.training for block in blocks)


def can_fold(blocks: Iterable[Any]) -> bool:
    """Whether up blocks are linear but for their noise, as they are now."""
    return may_fold(blocks) and all(
        block.up.weight.device.type == 'cpu'
        and _affine(block.norm, 1) is not None
        for block in blocks
    )


def _affine(norm: nn.Module, channels: int) -> tuple[Tensor, Tensor] | None:
    """Scale and shift of a norm with fixed statistics, else None."""
    if isinstance(norm, nn.Identity):
        return torch.ones(channels), torch.zeros(channels)
    fixed = isinstance(norm, nn.BatchNorm2d) and not norm.training
    if not fixed or norm.running_mean is None:
        return None
    mean, var = norm.running_mean.double(), norm.running_var.double()
    scale = (var + norm.eps).rsqrt()
    shift = -mean * scale
    if norm.affine:
        scale, shift = scale * norm.weight, shift * norm.weight + norm.bias
    return scale.float(), shift.float()


def fold(block: Any) -> FoldedBlock:
    """Fold an up block in eval mode."""
    scale, shift = _affine(block.norm, block.conv.out_channels)
    weight = block.conv.weight.double() * scale.view(-1, 1, 1, 1)
    shift = shift.view(-1, 1, 1).expand(-1, 3, 3)
    resize = None
    if block.resize:
        resize = block.up.weight, block.up.bias
    else:
        bias = block.up.bias.double().view(-1, 1, 1).expand(-1, 3, 3)
        shift = (shift + F.conv2d(bias[None], weight, padding=1)[0]).float()
        weight = seen_through(block.up.weight.double(), weight)
    weight = weight.float().contiguous(memory_format=NHWC)
    return FoldedBlock(weight, resize, scale, shift)


class FoldedDecoder:
    """Folded blocks, kept until a weight changes."""

    def __init__(self) -> None:
        self._key: tuple | None = None
        self._blocks: list[FoldedBlock] = []

    def blocks(self, blocks: Sequence[nn.Module]) -> list[FoldedBlock]:
        """Fold up blocks, or return what was folded of the same weights."""
        tensors = [
            tensor
            for block in blocks
            for tensor in (*block.parameters(), *block.buffers())
        ]
        if any(tensor.is_inference() for tensor in tensors):
            return [fold(block) for block in blocks]  # no version to ask for
        key = tuple((id(t), t.data_ptr(), t._version) for t in tensors)
        if key != self._key:
            self._blocks = [fold(block) for block in blocks]
            self._key = key
        return self._blocks

    def __deepcopy__(self, memo: dict) -> 'FoldedDecoder':
        return FoldedDecoder()

    def __reduce__(self) -> tuple:
        return FoldedDecoder, ()


def fold_skip(folded: FoldedBlock, skip: Tensor) -> Tensor:
    """All that a block adds and that is the same for every sample.

    Args:
        folded: The up block, folded.
        skip: ``conv_skip`` of its skip connection (B, C', h, w).

    Returns:
        (B, C', h, w).
    """
    inner = folded.shift[:, 1:2, 1:2]
    scale = folded.scale.view(-1, 1, 1)
    out = torch.addcmul(inner, skip, scale).contiguous(memory_format=NHWC)
    if folded.resize is None:
        _add_to_border(out, folded.shift - inner)
    return out


def _add_to_border(maps: Tensor, added: Tensor) -> None:
    """Add to the outermost pixels of maps, in place.

    Args:
        maps: (B, C, h, w), of 2x2 pixels at least.
        added: (C, 3, 3), for corners and edges; nothing for inner pixels.
    """
    for row in (0, -1):
        maps[..., row, :1] += added[:, row, :1]
        maps[..., row, 1:-1] += added[:, row, 1:2]
        maps[..., row, -1:] += added[:, row, -1:]
    for column in (0, -1):
        maps[..., 1:-1, column] += added[:, 1:2, column]


def fits(x: Tensor, block: Any, skip: Tensor) -> bool:
    """Whether a block maps features (..., h, w) to its skip's size exactly."""
    return block.resize or block.doubles(x, skip)


def run_block(
    folded: FoldedBlock, x: Tensor, skip: Tensor, scale: Tensor, shift: Tensor
) -> Tensor:
    """Run a folded block for one image and one noise vector.

    Args:
        folded: The block.
        x: Features (1, C, h, w) of the block before.
        skip: What `fold_skip` returned, of this image (1, C', h', w').
        scale: Of the noise (C',).
        shift: Of the noise (C',).

    Returns:
        Features (1, C', h', w') before the nonlinearity.
    """
    if folded.resize is None:
        weight = folded.weight * scale.view(1, -1, 1, 1)
        x = F.conv_transpose2d(x, weight, shift, stride=2, padding=1)
    else:
        size = skip.shape[-2:]
        x = F.conv2d(x, *folded.resize)
        x = F.interpolate(x, size, mode='bilinear', align_corners=False)
        weight = folded.weight * scale.view(-1, 1, 1, 1)
        x = F.conv2d(x, weight, shift, padding=1)
    return x.addcmul_(skip, scale.view(1, -1, 1, 1))
