"""Probabilistic U-Net (Kohl et al., NeurIPS 2018)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from mmcv.cnn import ConvModule
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least
from ..losses.pixel_losses import label_cross_entropy
from ..losses.sample_losses import standard_normal_kl
from ..segmentors.training import TrainBatch
from .base import FeatureSegmentor

# Mean and log-variance (B, d) of a latent code.
Gaussian = tuple[Tensor, Tensor]


class LatentState(NamedTuple):
    """An image without noise.

    Attributes:
        features: Features (B, C, H, W).
        prior: The prior of the latent code.
        seen: What gave it (B, channels, H, W).
    """

    features: Tensor
    prior: Gaussian
    seen: Tensor


class LatentEncoder(BaseModule):
    """Maps inputs to a Gaussian over latent codes: prior or posterior net.

    Args:
        in_channels: Channels of the input.
        latent_size: Length d of the code.
        channels: Width of every level; between levels the size is halved.
        convs: Convolutions per level.
        norm_cfg: Config of the norm after every convolution, None for none.
    """

    def __init__(
        self,
        in_channels: int,
        latent_size: int,
        channels: Sequence[int],
        convs: int,
        norm_cfg: dict | None,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, width in pairwise((in_channels, *channels)):
            if layers:
                layers.append(nn.AvgPool2d(2, ceil_mode=True))
            for start in [before] + [width] * (convs - 1):
                cfg = dict(padding=1, norm_cfg=norm_cfg)
                layers.append(ConvModule(start, width, 3, **cfg))
        self.levels = nn.Sequential(*layers)
        self.last = nn.Linear(channels[-1], 2 * latent_size)

    def forward(self, x: Tensor) -> Gaussian:
        """Mean and log-variance (B, d) of inputs (B, C, H, W)."""
        pooled = self.levels(x).mean((2, 3)).float()
        mean, logvar = self.last(pooled).chunk(2, dim=1)
        return mean, logvar


class LatentHead(BaseModule):
    """1x1 convolutions on features and a code that all pixels share.

    The first of them sees features and code side by side. It is linear, so
    the features' part is computed once per image.

    Args:
        features: Channels of the features.
        latent_size: Length d of the code.
        num_classes: Number of classes K.
        convs: Number of convolutions, at least 2.
    """

    def __init__(
        self, features: int, latent_size: int, num_classes: int, convs: int
    ) -> None:
        super().__init__()
        self.of_features = nn.Conv2d(features, features, 1)
        self.of_code = nn.Linear(latent_size, features, bias=False)
        layers: list[nn.Module] = []
        for _ in range(convs - 2):
            layers += [nn.ReLU(), nn.Conv2d(features, features, 1)]
        layers += [nn.ReLU(), nn.Conv2d(features, num_classes, 1)]
        self.rest = nn.Sequential(*layers)

    def forward(self, features: Tensor, codes: Tensor) -> Tensor:
        """Logits (s, B, K, H, W).

        Args:
            features: What ``of_features`` made of them, (B, C, H, W).
            codes: (s, B, d).
        """
        both = features + self.of_code(codes)[..., None, None]
        return self.rest(both.flatten(0, 1)).unflatten(0, codes.shape[:2])


@MODELS.register_module()
class ProbabilisticUNet(FeatureSegmentor):
    """A conditional VAE: a latent code per sample, drawn from a prior net.

    It learns by the evidence lower bound with a posterior net that sees the
    label: ``sum over pixels of the cross entropy + beta * KL(posterior ||
    prior)``, divided by the number of pixels.

    Args:
        num_classes: Number of classes K.
        net: See :class:`FeatureSegmentor`; a U-Net in the paper.
        latent_size: Length d of the latent code.
        beta: Weight of the KL divergence; 1 is the bound itself.
        encoder_channels: Widths of the prior and the posterior net, one per
            level.
        encoder_convs: Convolutions per level.
        encoder_norm_cfg: Config of their norm; None for none, as in the
            paper.
        head_convs: 1x1 convolutions on features and code.
        in_channels: Channels of an image.
        kwargs: See :class:`FeatureSegmentor`.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        latent_size: int = 6,
        beta: float = 1.0,
        encoder_channels: Sequence[int] = (32, 64, 128, 192, 192),
        encoder_convs: int = 3,
        encoder_norm_cfg: dict | None = None,
        head_convs: int = 3,
        in_channels: int = 3,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, net, **kwargs)
        at_least(1, latent_size=latent_size, encoder_convs=encoder_convs)
        at_least(2, head_convs=head_convs)
        self.latent_size, self.beta = latent_size, beta
        seen = in_channels
        if self.black_box is not None:
            seen += self.black_box.num_classes
        cfg = latent_size, encoder_channels, encoder_convs, encoder_norm_cfg
        self.net['prior'] = LatentEncoder(seen, *cfg)
        self.net['posterior'] = LatentEncoder(seen + num_classes, *cfg)
        features = self.net['features'].num_classes
        sizes = features, latent_size, num_classes, head_convs
        self.net['head'] = LatentHead(*sizes)

    def state(self, features: Tensor, seen: Tensor) -> LatentState:
        """Features of every pixel and the prior of the whole image."""
        features = self.net['head'].of_features(features)
        return LatentState(features, self.net['prior'](seen), seen)

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """One code per sample, (d,)."""
        return (self.latent_size,)

    def sample(self, state: LatentState, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        codes = _codes(state.prior, z)
        return self.net['head'](state.features, codes).softmax(2)

    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """Cross entropy under the posterior, and its distance to the prior.

        Returns:
            Both per pixel; ``kl`` is logged per image.
        """
        state = self.encode(batch.image, batch.data_samples)
        with_label = torch.cat((state.seen, batch.real), dim=1)
        posterior = self.net['posterior'](with_label)
        z = self.train_noise(batch, 1)
        logits = self.net['head'](state.features, _codes(posterior, z))[0]
        entropy = label_cross_entropy(
            logits.log_softmax(1), batch.label, ignore_index=self.ignore_index
        )
        (mean, logvar), (center, spread) = posterior, state.prior
        # In units of the prior, that is N(0, I).
        mean = (mean - center) * (-0.5 * spread).exp()
        kl = standard_normal_kl(mean, logvar - spread)
        # The bound adds up pixels; so does this, per pixel.
        pixels = batch.mask.sum().clamp(min=1)
        return dict(
            loss_ce=entropy,
            loss_kl=self.beta * kl.sum() / pixels,
            kl=kl.mean(),
        )


def _codes(gaussian: Gaussian, z: Tensor) -> Tensor:
    """Codes (s, B, d) of a Gaussian for standard normal noise (s, B, d)."""
    mean, logvar = gaussian
    return mean + (0.5 * logvar).exp() * z
