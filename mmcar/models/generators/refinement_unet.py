"""The paper's generator: a U-Net with noise in its decoder.

Noise enters in the decoder only, so the encoder, the skip connections and
the first decoder block up to its noise run once per image.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling.groups import build_gumbel
from ...sampling.kernels.denormals import bounded_exp
from ...sampling.kernels.folded_decoder import (
    MIN_FEATURES,
    FoldedBlock,
    FoldedDecoder,
    can_fold,
    fits,
    fold_skip,
    may_fold,
    run_block,
)
from ...sampling.kernels.memory_format import fast_layout
from ...utils.checks import at_least, channels, fraction, one_of, positive
from .base import BaseGenerator
from .unet_blocks import SLOPE, UpBlock, down_block


class UNetFeatures(NamedTuple):
    """What the decoder needs of an image, all of it computed once.

    Attributes:
        log_probs: F's log-probabilities (B, K, H, W).
        base: Features of the first up block, before its noise.
        skips: Contributions of the skip connections to the other up blocks.
        mean: Mean (B, d) of the latent code, if there is one.
        logvar: Log-variance (B, d) of the latent code, if there is one.
        folded: At test, the folded up blocks but the first, each with what
            its skip connection adds to every sample.
    """

    log_probs: Tensor
    base: Tensor
    skips: list[Tensor]
    mean: Tensor | None = None
    logvar: Tensor | None = None
    folded: list[tuple[FoldedBlock, Tensor]] | None = None


@MODELS.register_module()
class RefinementUNet(BaseGenerator):
    """The paper's generator: a U-Net with noise at every up block.

    Defaults are the paper's. Any image size is accepted.

    Args:
        num_classes: Number of classes, K.
        in_channels: Channels of the image, C.
        noise_size: Length of the noise that scales and shifts features.
        base_channels: Channels of the first level, doubled per level.
        depth: Number of down blocks and of up blocks.
        norm_cfg: Normalisation, or None for none.
        dropout: Dropout probability in every block.
        film: 'affine': features * scale + shift; 'residual':
            features * (1 + scale) + shift.
        upsample: 'deconv': transposed convolution; 'resize': bilinear, free
            of checkerboard patterns.
        residual: Whether logits are added to log F. They are zero at first.
        gumbel: Arguments of :class:`SharedGumbel` but ``num_classes``, and
            ``groups`` as :class:`GumbelSampler` has them, to add shared
            Gumbel noise to log F as well (implies ``residual``). It takes
            the first numbers of the noise vectors, whose length
            ``self.noise_size`` grows by its own.
        temperature: Divides the logits. With ``gumbel``, samples average to
            F at the start only if it is small (e.g. 0.1).
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        in_channels: int = 3,
        noise_size: int = 8,
        base_channels: int = 32,
        depth: int = 4,
        norm_cfg: dict | None = {'type': 'BN'},  # noqa: B006
        dropout: float = 0.1,
        film: str = 'affine',
        upsample: str = 'deconv',
        residual: bool = False,
        gumbel: dict | None = None,
        temperature: float = 1.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        at_least(2, num_classes=num_classes)
        at_least(1, noise_size=noise_size, in_channels=in_channels)
        at_least(1, base_channels=base_channels, depth=depth)
        one_of(('affine', 'residual'), film=film)
        one_of(('deconv', 'resize'), upsample=upsample)
        fraction(dropout=dropout)
        positive(temperature=temperature)
        shared = None
        if gumbel is not None:
            shared = build_gumbel(num_classes, **gumbel)
        gumbel_size = shared.noise_size if shared else 0
        super().__init__(gumbel_size + noise_size, temperature, init_cfg)
        self.num_classes = num_classes
        self.in_channels = in_channels
        self.residual = residual or shared is not None
        self.gumbel = shared

        inputs = in_channels + num_classes
        widths = [base_channels * 2**level for level in range(depth)]
        self.down = nn.ModuleList(
            down_block(i, o, norm_cfg, dropout)
            for i, o in zip([inputs, *widths[:-1]], widths, strict=True)
        )
        # From the deepest level up; the last skip connection is the input.
        outs = [*widths[:-1][::-1], base_channels]
        self.up = nn.ModuleList(
            UpBlock(i, s, o, noise_size, norm_cfg, dropout, film, upsample)
            for i, s, o in zip(
                [widths[-1], *outs[:-1]],
                [*widths[:-1][::-1], inputs],
                outs,
                strict=True,
            )
        )
        self.code = self._build_code(widths[-1], noise_size)
        self.logits = nn.Conv2d(base_channels, num_classes, 1)
        self._folded = FoldedDecoder()
        if self.residual:
            nn.init.zeros_(self.logits.weight)
            nn.init.zeros_(self.logits.bias)

    def encode(self, image: Tensor, log_probs: Tensor) -> UNetFeatures:
        """Run encoder, skip connections and the start of the first up block.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).

        Returns:
            Features, see :class:`UNetFeatures`.
        """
        return self._encode(image, log_probs)[0]

    def decode(self, features: UNetFeatures, z: Tensor) -> Tensor:
        """Return logits (s, B, K, H, W) for noise ``z`` (s, B, d)."""
        log_probs = features.log_probs
        own = 0 if self.gumbel is None else self.gumbel.noise_size
        shared, z = z[..., :own], z[..., own:]
        z = self._latent(features, z)
        if features.folded is not None and may_fold(self.up):
            logits = self._decode_folded(features, z)
        else:
            x = self.up[0].modulate(features.base[None], z)
            for block, skip in zip(self.up[1:], features.skips, strict=True):
                x = block.modulate(block.merge(x, skip), z)
            logits = self.logits(x).reshape(-1, *log_probs.shape)
        if self.residual:
            logits = logits + log_probs
        if self.gumbel is None:
            return logits
        return self.gumbel.perturb(logits, shared)

    def _encode(
        self, image: Tensor, log_probs: Tensor
    ) -> tuple[UNetFeatures, Tensor]:
        """Return the features and the deepest level (B, C, h, w)."""
        channels(image, **{'generator.in_channels': self.in_channels})
        inputs = torch.cat((image, bounded_exp(log_probs)), dim=1)
        inputs = fast_layout(inputs)
        levels = [inputs]
        for block in self.down:
            levels.append(block(levels[-1]))
        bottom = levels.pop()
        skips = [
            block.conv_skip(level)
            for block, level in zip(self.up, levels[::-1], strict=True)
        ]
        base = self.up[0].merge(bottom, skips[0])[0]
        if self.gumbel is not None:
            log_probs = self.gumbel.likely(log_probs)
        features = UNetFeatures(log_probs, base, skips[1:])
        return self._fold(features), bottom

    def _fold(self, features: UNetFeatures) -> UNetFeatures:
        """Prepare the folded decoder, at test and where sizes allow it."""
        blocks, skips = self.up[1:], features.skips
        large = bool(skips) and skips[-1][0].numel() >= MIN_FEATURES
        if (
            not large
            or not can_fold(self.up)
            or not all(
                fits(x, block, skip)
                for x, block, skip in zip(
                    [features.base, *skips], blocks, skips, strict=False
                )
            )
        ):
            return features
        folded = [
            (linear, fold_skip(linear, skip))
            for linear, skip in zip(
                self._folded.blocks(blocks), skips, strict=True
            )
        ]
        base = features.base.contiguous(memory_format=torch.channels_last)
        return features._replace(base=base, folded=folded)

    def _decode_folded(self, features: UNetFeatures, z: Tensor) -> Tensor:
        """Return the network's logits (s, B, K, H, W), map by map.

        One map at a time stays in the cache, and takes its noise as weights.
        """
        height, width = features.log_probs.shape[-2:]
        logits = z.new_empty(*z.shape[:2], self.num_classes, height, width)
        to_classes = self.logits.weight.flatten(1)  # (K, C)
        for index, noise in enumerate(z.flatten(0, 1)):
            s, b = divmod(index, z.shape[1])
            x = self.up[0].modulate(
                features.base[None, b : b + 1], noise[None, None]
            )
            for block, (linear, skip) in zip(
                self.up[1:], features.folded, strict=True
            ):
                scale, shift = block.film(noise).chunk(2)
                scale = scale + block.scale_offset
                x = run_block(linear, x, skip[b : b + 1], scale, shift)
                x = F.leaky_relu_(x, SLOPE)
            pixels = x[0].permute(1, 2, 0).flatten(0, 1)  # (H * W, C)
            out = logits[s, b].flatten(1)
            torch.mm(to_classes, pixels.T, out=out)
            out += self.logits.bias[:, None]
        return logits

    def _build_code(self, channels: int, noise_size: int) -> nn.Module | None:
        """Build what turns the deepest level into a latent code."""
        return None

    def _latent(self, features: UNetFeatures, z: Tensor) -> Tensor:
        """Return what scales and shifts features (s, B, d): the noise."""
        return z
