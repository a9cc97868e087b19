"""Losses that ask for a label's likelihood under G's samples."""

from mmseg.registry import MODELS
from torch import Tensor

from .base import BaseLoss, SampleBatch, keep_from_zero
from .pixel import label_cross_entropy


def sample_cross_entropy(
    samples: Tensor, label: Tensor, ignore_index: int = 255, eps: float = 1e-6
) -> Tensor:
    """Cross entropy of every sample with the label, averaged.

    Args:
        samples: Probabilities, (M, B, K, H, W).
        label: (B, H, W) integer.
        ignore_index: Pixels with this label do not count.
        eps: Probabilities are kept this far away from zero.
    """
    log_probs = keep_from_zero(samples.flatten(0, 1), eps).log()
    labels = label.expand(len(samples), *label.shape).flatten(0, 1)
    return label_cross_entropy(log_probs, labels, ignore_index=ignore_index)


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
        ignore_index: Pixels with this label are left out.
        eps: Probabilities are kept this far away from zero.
        loss_name: Name in the log.
    """

    loss_name = 'loss_sample_ce'
    needs = frozenset(('samples',))

    def __init__(
        self,
        loss_weight: float = 5.0,
        ignore_index: int = 255,
        eps: float = 1e-6,
        loss_name: str | None = None,
    ) -> None:
        super().__init__(loss_weight, ignore_index, loss_name)
        self.eps = eps

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        return self.loss_weight * sample_cross_entropy(
            batch.require('samples', self),
            batch.label,
            self.ignore_index,
            self.eps,
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
        loss_weight: Weight of the whole in G's loss.
        ignore_index: Pixels with this label are left out.
        eps: Probabilities are kept this far away from zero.
        loss_name: Name in the log.
    """

    loss_name = 'loss_elbo'

    def __init__(
        self,
        beta: float = 1.0,
        loss_weight: float = 5.0,
        ignore_index: int = 255,
        eps: float = 1e-6,
        loss_name: str | None = None,
        per_pixel: bool = True,
    ) -> None:
        super().__init__(loss_weight, ignore_index, eps, loss_name)
        self.beta, self.per_pixel = beta, per_pixel

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mean, logvar = batch.require('posterior', self)
        kl = standard_normal_kl(mean, logvar).sum()
        labelled = (batch.label != self.ignore_index).sum().clamp(min=1)
        kl = kl / (labelled if self.per_pixel else len(mean))
        return super().forward(batch) + self.loss_weight * self.beta * kl
