"""The loss that ties the mean of G's samples to F."""

from collections.abc import Callable
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor

from ...sampling.kernels import bounded_exp
from ...utils.checks import one_of
from ...utils.errors import UserError
from .base import BaseLoss, SampleBatch, keep_from_zero, masked_mean

FLOORS = ('mix', 'clamp')


def _kl(p: Tensor, q: Tensor) -> Tensor:
    return (p * (p.log() - q.log())).sum(1)


def _js(p: Tensor, q: Tensor) -> Tensor:
    middle = (p + q) / 2
    return (_kl(p, middle) + _kl(q, middle)) / 2


def _squared_error(p: Tensor, q: Tensor) -> Tensor:
    return 0.5 * (p - q).square().sum(1)


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    'reverse_kl': _kl,
    'forward_kl': lambda mean, target: _kl(target, mean),
    'js': _js,
    'squared_error': _squared_error,
}
"""By name; of sample mean and target (B, K, ...), result (B, ...)."""


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
        one_of(FLOORS, floor=floor)
        if unbiased and divergence != 'squared_error':
            raise UserError(
                f"unbiased=True needs divergence='squared_error', not "
                f'{divergence!r}: no unbiased estimate of it exists.'
            )
        self.divergence = divergence
        self.eps = eps
        self.floor = floor
        self.count_ignored = count_ignored
        self.unbiased = unbiased
        if unbiased:
            self.needs = frozenset(('log_probs', 'samples'))

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted loss, a scalar."""
        mask = self.mask(batch)
        target = bounded_exp(batch.require('log_probs', self).detach())
        values = pixel_divergence(
            batch.mean, target, self.divergence, self.eps, self.floor
        )
        loss = masked_mean(values, mask)
        if self.unbiased:
            samples = batch.require('samples', self)
            if len(samples) < 2:
                raise UserError(
                    'CalibrationLoss(unbiased=True) needs at least 2 samples '
                    f'per image, got {len(samples)}.'
                )
            variance = samples.var(0).sum(1) / len(samples)  # (B, H, W)
            loss = loss - 0.5 * masked_mean(variance, mask)
        if self.count_ignored:
            loss = loss * mask.float().mean()
        return self.loss_weight * loss
