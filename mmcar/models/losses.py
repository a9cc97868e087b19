"""Losses of F (`LabelCrossEntropy`), G and D, and the batch G's losses see."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ..utils.errors import UserError

DIVERGENCES = ('reverse_kl', 'forward_kl', 'js', 'squared_error')
ADVERSARIAL_MODES = ('non_saturating', 'hinge', 'least_squares')


@dataclass
class SampleBatch:
    """What the losses of the generator see: M samples of each of B images.

    Attributes:
        mean: Mean of the samples' probabilities, (B, K, H, W).
        log_probs: Log-probabilities of F, (B, K, H, W), a fixed target; None
            if neither G nor a loss has ``needs_calibration``.
        label: The label drawn for each image, (B, H, W) int64.
        num_samples: M.
        samples: The probabilities themselves, (M, B, K, H, W); None unless
            a loss has ``needs_samples``.
        fake_logits: D's logits of the samples, (M, B) or (M, B, h, w).
        labels: The labels of all annotators, (B, A, H, W); images with fewer
            than A have maps filled with the ignore index at the end.
        label_weights: Weights of those labels, (B, A); None for equal ones.
        posterior: Mean and log-variance of the latent code, each (B, d).
    """

    mean: Tensor
    log_probs: Tensor | None
    label: Tensor
    num_samples: int
    samples: Tensor | None = None
    fake_logits: Tensor | None = None
    labels: Tensor | None = None
    label_weights: Tensor | None = None
    posterior: tuple[Tensor, Tensor] | None = None

    @property
    def all_labels(self) -> Tensor:
        """Labels (B, A, H, W); the drawn one if no others are known."""
        return self.label.unsqueeze(1) if self.labels is None else self.labels

    def require(self, field: str, loss: object) -> Tensor:
        """Return a field that ``loss`` cannot do without."""
        value = getattr(self, field)
        if value is None:
            raise UserError(
                f'{type(loss).__name__} needs `{field}` of the SampleBatch, '
                'but it is None.'
            )
        return value


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a config value that is not one of ``choices``."""
    if value not in choices:
        raise UserError(f'{name}={value!r}: expected one of {choices}.')


def masked_mean(values: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over the pixels where ``mask`` is True; 0 if there is none.

    Masked values may be anything, NaN included: they are replaced, not
    multiplied by zero.
    """
    if mask is None:
        return values.mean()
    values = torch.where(mask, values, values.new_zeros(()))
    return values.sum() / mask.sum().clamp(min=1)


def keep_from_zero(probs: Tensor, eps: float) -> Tensor:
    """Mix in the uniform distribution, so that no class is below ``eps``.

    Unlike clamping to [eps, 1 - eps], which gives the same range for two
    classes, it keeps the sum at 1 and the gradient alive: a sample mean that
    has collapsed to exactly 0 or 1 must still be pulled back.

    Args:
        probs: (B, K, ...).
        eps: Smallest probability after mixing; 0 changes nothing.
    """
    num_classes = probs.shape[1]
    if not 0 <= eps * num_classes < 1:
        raise UserError(
            f'eps={eps}: expected a value in [0, 1 / {num_classes}) for '
            f'{num_classes} classes.'
        )
    return (1 - num_classes * eps) * probs + eps


def _kl(p: Tensor, q: Tensor) -> Tensor:
    return (p * (p.log() - q.log())).sum(1)


def pixel_divergence(
    mean: Tensor,
    target_probs: Tensor,
    divergence: str = 'reverse_kl',
    eps: float = 1e-3,
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

    Returns:
        (B, ...), summed over classes.
    """
    check_choice('divergence', divergence, DIVERGENCES)
    if divergence == 'squared_error':
        return 0.5 * (mean - target_probs).square().sum(1)
    p = keep_from_zero(mean, eps)
    q = keep_from_zero(target_probs, eps)
    if divergence == 'reverse_kl':
        return _kl(p, q)
    if divergence == 'forward_kl':
        return _kl(q, p)
    middle = (p + q) / 2
    return (_kl(p, middle) + _kl(q, middle)) / 2


def calibration_loss(
    mean: Tensor,
    target_probs: Tensor,
    divergence: str = 'reverse_kl',
    mask: Tensor | None = None,
    eps: float = 1e-3,
) -> Tensor:
    """Mean over the unmasked pixels of `pixel_divergence`.

    Args:
        mean: Sample mean, (B, K, ...); the *first* argument of reverse KL.
        target_probs: Probabilities of F, (B, K, ...).
        divergence: One of ``DIVERGENCES``.
        mask: (B, ...) bool, True where pixels count; None for all.
        eps: Both arguments are kept this far away from zero.
    """
    values = pixel_divergence(mean, target_probs, divergence, eps)
    return masked_mean(values, mask)


@MODELS.register_module()
class CalibrationLoss(nn.Module):
    """Pulls the mean of G's samples towards F; F gets no gradient.

    Args:
        divergence: 'reverse_kl' (the paper's), 'forward_kl', 'js' or
            'squared_error'.
        eps: Probabilities are kept this far away from zero.
        loss_weight: Weight in G's loss.
        ignore_index: Pixels with this label are left out.
        unbiased: For 'squared_error' only. The error of a mean of M samples
            is too large by the samples' variance / M, which for small M
            rewards samples that do not vary. Subtracting the variance
            estimated from the same samples leaves an unbiased estimate of
            the error of the expected sample. It assumes *independent* noise:
            the mean over low-discrepancy noise has less variance already.
    """

    loss_name = 'loss_cal'

    def __init__(
        self,
        divergence: str = 'reverse_kl',
        eps: float = 1e-3,
        loss_weight: float = 5.0,
        ignore_index: int = 255,
        unbiased: bool = False,
    ) -> None:
        super().__init__()
        check_choice('divergence', divergence, DIVERGENCES)
        if unbiased and divergence != 'squared_error':
            raise UserError(
                f"unbiased=True needs divergence='squared_error', not "
                f'{divergence!r}: no unbiased estimate of it exists.'
            )
        self.divergence = divergence
        self.eps = eps
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index
        self.unbiased = unbiased
        self.needs_samples = unbiased

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mask = batch.label != self.ignore_index
        loss = calibration_loss(
            batch.mean,
            batch.log_probs.detach().exp(),
            self.divergence,
            mask,
            self.eps,
        )
        if self.unbiased:
            samples = batch.require('samples', self)
            if len(samples) < 2:
                raise UserError(
                    'CalibrationLoss(unbiased=True) needs at least 2 samples '
                    f'per image, got {len(samples)}.'
                )
            variance = samples.var(0).sum(1) / len(samples)  # (B, H, W)
            loss = loss - 0.5 * masked_mean(variance, mask)
        return self.loss_weight * loss


@MODELS.register_module()
class AdversarialLoss(nn.Module):
    """The game of G and D, on D's logits.

    Args:
        mode: 'non_saturating' (the paper's; binary cross entropy for D),
            'hinge' or 'least_squares'.
        loss_weight: Weight in G's loss; D's loss is not weighted.
    """

    loss_name = 'loss_adv'
    needs_samples = False

    def __init__(
        self, mode: str = 'non_saturating', loss_weight: float = 10.0
    ) -> None:
        super().__init__()
        check_choice('mode', mode, ADVERSARIAL_MODES)
        self.mode = mode
        self.loss_weight = loss_weight

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
        logits = batch.require('fake_logits', self)
        return self.loss_weight * self.generator(logits)
