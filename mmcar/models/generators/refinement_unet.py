"""The paper's generator: a U-Net with noise in its decoder.

Noise enters in the decoder only, so the encoder, the skip connections and
the first decoder block up to its noise run once per image.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling import build_gumbel
from ...sampling.kernels import FoldedDecoder, bounded_exp, fast_layout, fold
from ...utils.checks import at_least, channels, fraction, one_of, positive
from ...utils.windows import Window, stitch, window_for
from ..parts import conv_blocks
from .base import BaseGenerator
from .unet_blocks import UpBlock


class UNetFeatures(NamedTuple):
    """What the decoder needs of an image, all of it computed once.

    Attributes:
        log_probs: F's log-probabilities (B, K, H, W).
        base: Features of the first up block, before its noise.
        skips: Contributions of the skip connections to the other up blocks.
        pooled: Mean over all pixels of the deepest level (B, C).
        folded: The decoder at test time; None where it cannot be folded.
        posterior: Mean and log-variance (B, d) of the latent code, if any.
    """

    log_probs: Tensor
    base: Tensor
    skips: list[Tensor]
    pooled: Tensor
    folded: FoldedDecoder | None
    posterior: tuple[Tensor, Tensor] | None = None


# What is looked at in windows, again for every sample: F's log-probabilities
# (B, K, H, W), the image (B, C, H, W), size and stride of the windows.
LargeImage = tuple[Tensor, Tensor, Window]


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
        shared = (
            None if gumbel is None else build_gumbel(num_classes, **gumbel)
        )
        gumbel_size = shared.noise_size if shared else 0
        super().__init__(gumbel_size + noise_size, temperature, init_cfg)
        self.num_classes = num_classes
        self.in_channels = in_channels
        self.residual = residual or shared is not None
        self.gumbel = shared

        widths = [base_channels * 2**level for level in range(depth)]
        widths = [in_channels + num_classes, *widths]
        self.down = nn.ModuleList(conv_blocks(widths, norm_cfg, dropout, 2))
        # From the deepest level up; the last skip connection is the input.
        skips = widths[-2::-1]
        outs = [widths[-1], *skips[:-1], base_channels]
        self.up = nn.ModuleList(
            UpBlock(i, s, o, noise_size, norm_cfg, dropout, film, upsample)
            for s, (i, o) in zip(skips, pairwise(outs), strict=True)
        )
        self.logits = nn.Conv2d(base_channels, num_classes, 1)
        if self.residual:
            nn.init.zeros_(self.logits.weight)
            nn.init.zeros_(self.logits.bias)

    def encode(
        self, image: Tensor, log_probs: Tensor
    ) -> UNetFeatures | LargeImage:
        """Run encoder, skip connections and the start of the first up block.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).
        """
        windows = None if self.training else window_for(image)
        if windows is None:
            return self._look(image, log_probs)
        return log_probs, image, windows

    def _look(self, image: Tensor, log_probs: Tensor) -> UNetFeatures:
        channels(image, **{'generator.in_channels': self.in_channels})
        inputs = torch.cat((image, bounded_exp(log_probs)), dim=1)
        levels = [fast_layout(inputs)]
        for block in self.down:
            levels.append(block(levels[-1]))
        bottom = levels.pop()
        first, *skips = (
            block.conv_skip(level)
            for block, level in zip(self.up, levels[::-1], strict=True)
        )
        base = self.up[0].merge(bottom, first)[0]
        if self.gumbel is not None:
            log_probs = self.gumbel.likely(log_probs)
        folded = fold(self.up, self.logits, base, skips)
        return UNetFeatures(
            log_probs, base, skips, bottom.mean((2, 3)), folded
        )

    def decode(self, features: UNetFeatures | LargeImage, z: Tensor) -> Tensor:
        """Return logits (s, B, K, H, W) for noise ``z`` (s, B, d)."""
        own = 0 if self.gumbel is None else self.gumbel.noise_size
        shared, z = z[..., :own], z[..., own:]
        if isinstance(features, UNetFeatures):
            log_probs, logits = features.log_probs, self._refine(features, z)
        else:
            log_probs, image, windows = features

            def refine(image: Tensor, own: Tensor, one: Tensor) -> Tensor:
                return self._refine(self._look(image, own), one[None])[0]

            maps = [  # the same noise in all windows
                stitch(partial(refine, one=one), image, log_probs, windows)
                for one in z
            ]
            logits = torch.stack(maps)
            if self.gumbel is not None:
                log_probs = self.gumbel.likely(log_probs)
        if self.residual:
            logits = logits + log_probs
        if self.gumbel is None:
            return logits
        return self.gumbel.perturb(logits, shared)

    def _refine(self, features: UNetFeatures, z: Tensor) -> Tensor:
        """What is added to log F, or stands in its place, (s, B, K, H, W)."""
        z = self._latent(features, z)
        if features.folded is not None and features.folded.may_run():
            return features.folded.decode(z)
        x = self.up[0].modulate(features.base[None], z)
        for block, skip in zip(self.up[1:], features.skips, strict=True):
            x = block.modulate(block.merge(x, skip), z)
        return self.logits(x).reshape(-1, *features.log_probs.shape)

    def _latent(self, features: UNetFeatures, z: Tensor) -> Tensor:
        """Return what scales and shifts features (s, B, d): the noise."""
        return z


@MODELS.register_module()
class LatentUNet(RefinementUNet):
    """The cVAE-GAN version: noise becomes a latent code of the image.

    The encoder ends in a mean and a standard deviation per image, and
    ``mean + std * eps`` takes the place of eps.

    Args:
        reparameterize: Whether gradients of the samples reach mean and
            standard deviation. False draws the code without a gradient, as in
            the authors' code: then only a loss of the posterior itself, such
            as the prior of the ELBO, shapes them. With several GPUs and no
            such loss, set ``model_wrapper_cfg.find_unused_parameters``.
        kwargs: Arguments of :class:`RefinementUNet`.
    """

    def __init__(self, reparameterize: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reparameterize = reparameterize
        deepest = self.up[0].up.in_channels
        self.code = nn.Linear(deepest, 2 * self.up[0].film.in_features)

    def encode(self, image: Tensor, log_probs: Tensor) -> UNetFeatures:
        """Encode as :class:`RefinementUNet` does, and the latent code."""
        features = self._look(image, log_probs)
        mean, logvar = self.code(features.pooled).float().chunk(2, dim=1)
        # Without a prior in the loss nothing else bounds the variance.
        return features._replace(posterior=(mean, logvar.clamp(-16, 16)))

    def posterior(self, features: UNetFeatures) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, noise_size) of the code."""
        return features.posterior

    def _latent(self, features: UNetFeatures, z: Tensor) -> Tensor:
        mean, logvar = self.posterior(features)
        code = mean + (0.5 * logvar).exp() * z
        return code if self.reparameterize else code.detach()
