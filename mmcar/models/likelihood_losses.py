"""Losses that ask for a label's likelihood: cross entropies and the ELBO."""

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from .losses import SampleBatch, keep_from_zero, masked_mean


def label_cross_entropy(
    log_probs: Tensor,
    target: Tensor,
    valid: Tensor | None = None,
    ignore_index: int = 255,
) -> Tensor:
    """Cross entropy of log-probabilities with hard or soft labels.

    Args:
        log_probs: (B, K, H, W).
        target: One label per pixel, (B, H, W) integer; or a distribution
            over classes (e.g. the mean of the annotators), (B, K, H, W).
        valid: (B, H, W) bool, pixels that count; None for all.
        ignore_index: Pixels with this hard label do not count either.

    Returns:
        Mean over the pixels that count, a scalar; 0 if there is none.
    """
    if target.dim() == log_probs.dim():
        # 0 * -inf is NaN, but a class of probability zero costs nothing.
        product = torch.where(
            target > 0, target * log_probs, log_probs.new_zeros(())
        )
        return masked_mean(-product.sum(1), valid)
    mask = target != ignore_index
    index = torch.where(mask, target, 0).long().unsqueeze(1)
    values = -log_probs.gather(1, index).squeeze(1)  # (B, H, W)
    return masked_mean(values, mask if valid is None else mask & valid)


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


@MODELS.register_module()
class LabelCrossEntropy(nn.Module):
    """Trains F: cross entropy with a drawn label or the annotators' mean.

    Args:
        loss_weight: Weight of the loss.
        ignore_index: Pixels with this label are left out.
    """

    loss_name = 'loss_ce'

    def __init__(
        self, loss_weight: float = 1.0, ignore_index: int = 255
    ) -> None:
        super().__init__()
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index

    def forward(
        self, logits: Tensor, target: Tensor, valid: Tensor | None = None
    ) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            logits: F's logits (or log-probabilities), (B, K, H, W).
            target: (B, H, W) integer or (B, K, H, W) distribution.
            valid: (B, H, W) bool, pixels that count; None for all.
        """
        return self.loss_weight * label_cross_entropy(
            logits.log_softmax(1), target, valid, self.ignore_index
        )


@MODELS.register_module()
class SampleCrossEntropy(nn.Module):
    """Cross entropy of each of G's samples with the drawn label.

    In place of the calibration loss it makes the control that loses its
    diversity: every sample is pulled towards every label.

    Args:
        loss_weight: Weight in G's loss.
        ignore_index: Pixels with this label are left out.
        eps: Probabilities are kept this far away from zero.
    """

    loss_name = 'loss_sample_ce'
    needs_samples = True
    needs_calibration = False

    def __init__(
        self,
        loss_weight: float = 5.0,
        ignore_index: int = 255,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index
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

    The cross entropy is the mean over pixels, the KL the sum over the latent
    dimensions and the mean over images.

    Args:
        beta: Weight of the KL term.
        loss_weight: Weight of the whole in G's loss.
        ignore_index: Pixels with this label are left out.
        eps: Probabilities are kept this far away from zero.
    """

    loss_name = 'loss_elbo'

    def __init__(
        self,
        beta: float = 1.0,
        loss_weight: float = 5.0,
        ignore_index: int = 255,
        eps: float = 1e-6,
    ) -> None:
        super().__init__(loss_weight, ignore_index, eps)
        self.beta = beta

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mean, logvar = batch.require('posterior', self)
        kl = standard_normal_kl(mean, logvar).mean()
        return super().forward(batch) + self.loss_weight * self.beta * kl
