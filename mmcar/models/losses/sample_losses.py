"""Losses of G's samples: calibration, the game with D, likelihood."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor

from ...sampling.kernels import bounded_exp
from ...utils.checks import at_least, one_of
from ...utils.errors import UserError
from ...utils.precision import full_precision
from .base import BaseLoss, SampleBatch, keep_from_zero, masked_mean
from .pixel_losses import label_cross_entropy


def _kl(p: Tensor, q: Tensor) -> Tensor:
    return (p * (p.log() - q.log())).sum(1)


def _js(p: Tensor, q: Tensor) -> Tensor:
    middle = (p + q) / 2
    return (_kl(p, middle) + _kl(q, middle)) / 2


def _squared_error(p: Tensor, q: Tensor) -> Tensor:
    return 0.5 * (p - q).square().sum(1)


# By name; of sample mean and target (B, K, ...), result (B, ...).
DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    'reverse_kl': _kl,
    'forward_kl': lambda mean, target: _kl(target, mean),
    'js': _js,
    'squared_error': _squared_error,
}


def pixel_divergence(
    mean: Tensor,
    target_probs: Tensor,
    divergence: str = 'reverse_kl',
    eps: float = 1e-3,
    floor: str = 'mix',
) -> Tensor:
    """Divergence of the sample mean from the target at every pixel.

    ``reverse_kl`` is KL(mean || target), ``forward_kl`` KL(target || mean),
    ``js`` the Jensen-Shannon divergence (natural logarithms), and
    ``squared_error`` half the squared distance, which is not restricted to
    probabilities and not touched by ``eps``.

    Args:
        mean: (B, K, ...).
        target_probs: (B, K, ...).
        divergence: One of ``DIVERGENCES``.
        eps: Both arguments are kept this far away from zero.
        floor: How, see :class:`CalibrationLoss`.

    Returns:
        (B, ...), summed over classes.
    """
    if divergence == 'squared_error':
        p, q = mean, target_probs
    elif floor == 'mix':
        p, q = (keep_from_zero(x, eps) for x in (mean, target_probs))
    else:
        p, q = (x.clamp(eps, 1 - eps) for x in (mean, target_probs))
    return DIVERGENCES[divergence](p, q)


@MODELS.register_module()
class CalibrationLoss(BaseLoss):
    """Pulls the mean of G's samples towards F; F gets no gradient.

    Args:
        divergence: 'reverse_kl' (the paper's), 'forward_kl', 'js' or
            'squared_error'.
        eps: Probabilities are kept this far away from zero.
        loss_weight: Weight in G's loss.
        unbiased: For 'squared_error' only. The error of a mean of M samples
            is too large by the samples' variance / M, which for small M
            rewards samples that do not vary. Subtracting the variance
            estimated from the same samples leaves an unbiased estimate of
            the error of the expected sample. It assumes *independent* noise:
            the mean over low-discrepancy noise has less variance already.
        floor: How probabilities are kept from zero. 'mix': by mixing in the
            uniform distribution, which leaves a gradient everywhere. 'clamp':
            to [eps, 1 - eps], as in the authors' code; where the sample mean
            has collapsed to 0 or 1 there is no gradient.
        count_ignored: Divide the sum by the number of all pixels, as in the
            authors' code, not by that of the labelled ones.
        kwargs: Arguments of :class:`BaseLoss`.
    """

    loss_name = 'loss_cal'
    needs = frozenset(('log_probs',))

    def __init__(
        self,
        divergence: str = 'reverse_kl',
        eps: float = 1e-3,
        loss_weight: float = 5.0,
        unbiased: bool = False,
        floor: str = 'mix',
        count_ignored: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(loss_weight, **kwargs)
        one_of(DIVERGENCES, divergence=divergence)
        one_of(('mix', 'clamp'), floor=floor)
        self.divergence, self.eps, self.floor = divergence, eps, floor
        self.count_ignored, self.unbiased = count_ignored, unbiased
        if unbiased:  # of the others no unbiased estimate exists
            one_of(('squared_error',), **{'unbiased: divergence': divergence})
            self.needs = frozenset(('log_probs', 'samples'))

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mask = self.mask(batch)
        target = bounded_exp(batch.log_probs.detach())
        values = pixel_divergence(
            batch.mean, target, self.divergence, self.eps, self.floor
        )
        loss = masked_mean(values, mask)
        if self.unbiased:
            number = len(batch.samples)
            at_least(2, **{'unbiased=True with num_samples': number})
            variance = batch.samples.var(0).sum(1) / number  # (B, H, W)
            loss = loss - 0.5 * masked_mean(variance, mask)
        if self.count_ignored:
            loss = loss * mask.float().mean()
        return self.loss_weight * loss


@MODELS.register_module()
class AdversarialLoss(BaseLoss):
    """The game of G and D, on D's logits.

    Args:
        mode: 'non_saturating' (the paper's; binary cross entropy for D),
            'hinge' or 'least_squares'.
        loss_weight: Weight in G's loss; D's loss is not weighted.
    """

    loss_name = 'loss_adv'

    def __init__(
        self, mode: str = 'non_saturating', loss_weight: float = 10.0
    ) -> None:
        super().__init__(loss_weight)
        one_of(('non_saturating', 'hinge', 'least_squares'), mode=mode)
        self.mode = mode

    def generator(self, fake_logits: Tensor) -> Tensor:
        """Unweighted loss of G on logits of any shape, a scalar."""
        if self.mode == 'non_saturating':
            return F.softplus(-fake_logits).mean()
        if self.mode == 'hinge':
            return -fake_logits.mean()
        return 0.5 * (fake_logits - 1).square().mean()

    def discriminator(
        self, real_logits: Tensor, fake_logits: Tensor
    ) -> Tensor:
        """Loss of D: its means over real and over fake logits, added."""
        if self.mode == 'non_saturating':
            real, fake = F.softplus(-real_logits), F.softplus(fake_logits)
        elif self.mode == 'hinge':
            real, fake = F.relu(1 - real_logits), F.relu(1 + fake_logits)
        else:
            real = 0.5 * (real_logits - 1).square()
            fake = 0.5 * fake_logits.square()
        return real.mean() + fake.mean()

    @torch.no_grad()
    def accuracy(self, real_logits: Tensor, fake_logits: Tensor) -> Tensor:
        """Share of logits on the right side of what D takes for undecided."""
        middle = 0.5 if self.mode == 'least_squares' else 0.0
        real = (real_logits > middle).float().mean()
        return (real + (fake_logits < middle).float().mean()) / 2

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return G's weighted loss over all M samples, a scalar."""
        with full_precision(batch.fake_logits):
            return self.loss_weight * self.generator(batch.fake_logits)


def standard_normal_kl(mean: Tensor, logvar: Tensor) -> Tensor:
    """KL(N(mean, exp(logvar)) || N(0, I)), (B, d) each -> (B,)."""
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum(1)


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
        probs = batch.samples.flatten(0, 1)  # (M * B, K, H, W)
        log_probs = keep_from_zero(probs, self.eps).log()
        labels = batch.label.repeat(len(batch.samples), 1, 1)
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
        if batch.posterior is None:
            raise UserError(
                'ELBOLoss needs the posterior of a generator: use LatentUNet'
            )
        mean, logvar = batch.posterior
        kl = standard_normal_kl(mean, logvar).sum()
        labelled = self.mask(batch).sum().clamp(min=1)
        kl = kl / (labelled if self.per_pixel else len(mean))
        return super().forward(batch) + self.loss_weight * self.beta * kl
