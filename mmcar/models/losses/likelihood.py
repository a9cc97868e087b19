"""Losses that ask for a label's likelihood under G's samples."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor

from .base import BaseLoss, SampleBatch, keep_from_zero
from .pixel import label_cross_entropy


def standard_normal_kl(mean: Tensor, logvar: Tensor) -> Tensor:
    """KL(N(mean, exp(logvar)) || N(0, I)), (B, d) each -> (B,)."""
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum(1)


def gaussian_kl(
    mean: Tensor, logvar: Tensor, other_mean: Tensor, other_logvar: Tensor
) -> Tensor:
    """KL(N(mean, exp(logvar)) || N(other_mean, exp(other_logvar))).

    Args:
        mean: (B, d), of the first, with a diagonal covariance.
        logvar: (B, d), logarithm of the diagonal.
        other_mean: (B, d), of the second.
        other_logvar: (B, d).

    Returns:
        (B,).
    """
    spread = (-0.5 * other_logvar).exp()
    return standard_normal_kl(
        (mean - other_mean) * spread, logvar - other_logvar
    )


@MODELS.register_module()
class SampleCrossEntropy(BaseLoss):
    """Cross entropy of each of G's samples with the drawn label.

    In place of the calibration loss it makes the control that loses its
    diversity: every sample is pulled towards every label.

    Args:
        loss_weight: Weight in G's loss.
        eps: Probabilities are kept this far away from zero.
        kwargs: Arguments of :class:`BaseLoss`.
    """

    loss_name = 'loss_sample_ce'
    needs = frozenset(('samples',))

    def __init__(
        self, loss_weight: float = 5.0, eps: float = 1e-6, **kwargs: Any
    ) -> None:
        super().__init__(loss_weight, **kwargs)
        self.eps = eps

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        samples = batch.require('samples', self)  # (M, B, K, H, W)
        log_probs = keep_from_zero(samples.flatten(0, 1), self.eps).log()
        labels = batch.label.repeat(len(samples), 1, 1)
        return self.loss_weight * label_cross_entropy(
            log_probs, labels, ignore_index=self.ignore_index
        )


@MODELS.register_module()
class ELBOLoss(SampleCrossEntropy):
    """Negative ELBO: cross entropy + beta * KL(posterior || N(0, I)).

    The bound adds up the cross entropy of an image's pixels. Both terms are
    divided by the number of labelled pixels, so that neither depends on the
    size of images.

    Args:
        beta: Weight of the KL term; 1 is the bound itself.
        per_pixel: Whether to divide the KL as well. If False, the mean cross
            entropy of pixels meets the mean KL of whole images: at 128x128,
            beta is 16384 times that of the bound.
        kwargs: Arguments of :class:`SampleCrossEntropy`; ``loss_weight`` is
            that of the whole in G's loss.
    """

    loss_name = 'loss_elbo'

    def __init__(
        self, beta: float = 1.0, per_pixel: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta, self.per_pixel = beta, per_pixel

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mean, logvar = batch.require('posterior', self)
        kl = standard_normal_kl(mean, logvar).sum()
        labelled = self.mask(batch).sum().clamp(min=1)
        kl = kl / (labelled if self.per_pixel else len(mean))
        return super().forward(batch) + self.loss_weight * self.beta * kl
