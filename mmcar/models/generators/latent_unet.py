"""The generator of the cVAE-GAN experiments."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from .refinement_unet import RefinementUNet, UNetFeatures


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

    def _build_code(self, channels: int, noise_size: int) -> nn.Module:
        return nn.Linear(channels, 2 * noise_size)

    def encode(self, image: Tensor, log_probs: Tensor) -> UNetFeatures:
        """Encode as :class:`RefinementUNet` does, plus mean and logvar."""
        features, bottom = self._encode(image, log_probs)
        code = self.code(bottom.mean((2, 3))).float()
        mean, logvar = code.chunk(2, dim=1)
        # Without a prior in the loss nothing else bounds the variance.
        return features._replace(mean=mean, logvar=logvar.clamp(-16, 16))

    def posterior(self, features: UNetFeatures) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, noise_size) of the code."""
        return features.mean, features.logvar

    def _latent(self, features: UNetFeatures, z: Tensor) -> Tensor:
        code = features.mean + (0.5 * features.logvar).exp() * z
        return code if self.reparameterize else code.detach()
