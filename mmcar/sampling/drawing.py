"""Label maps from the output of any model: all of training-free sampling."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Unpack

from ..utils.arrays import as_tensor
from ..utils.checks import one_of, positive
from ..utils.errors import UserError
from ..utils.precision import safe_log
from .gumbel import GumbelSettings, build_gumbel
from .noise import NormalNoise, SobolNoise, content_key

_NOISE = {'normal': NormalNoise, 'sobol': SobolNoise}
# How far from 1 half precision may leave a sum of probabilities.
_ROUNDING = 0.01


class SamplerSettings(GumbelSettings, total=False):
    """Settings of `sample_labels` that need no look at what is given."""

    keys: Sequence[str] | None
    noise: str
    temperature: float


@torch.no_grad()
def sample_labels(
    logits_or_probs: Tensor | np.ndarray,
    num_samples: int,
    seed: int = 0,
    *,
    kind: str | None = None,
    keys: Sequence[str] | None = None,
    noise: str = 'normal',
    temperature: float = 1.0,
    **settings: Unpack[GumbelSettings],
) -> Tensor | np.ndarray:
    """Draw coherent label maps whose frequencies are given probabilities.

    They are those of ``GumbelSampler`` in a model of the same seed. An image
    has the same ones in whatever batch. `representative` chooses few that
    stand for many.

    Args:
        logits_or_probs: What a model says of K classes, (B, K, H, W).
        num_samples: Label maps per image, S. Fewer are the first of more.
        seed: Seed of the noise.
        kind: 'logits' (log-probabilities are some) or 'probs'; by default
            what the values can only be.
        keys: Name of each of the B images, which its noise follows from; by
            default the values given of it.
        noise: 'normal': independent samples; 'sobol': low-discrepancy noise,
            whose samples cover what may be more evenly.
        temperature: Divides the logits: samples below 1 are surer.
        settings: How pixels share noise, and what is not drawn:
            ``correlation_length``, ``num_features``, ``common`` and ``floor``
            of :class:`SharedGumbel`; ``groups`` of :class:`GroupedGumbel`.

    Returns:
        Label maps (B, S, H, W) as small integers: an array of an array, else
        a tensor on the device of the values.

    Example:
        >>> probs = torch.tensor([0.7, 0.3]).view(1, 2, 1, 1)
        >>> probs = probs.repeat(2, 1, 4, 5)
        >>> samples = sample_labels(probs, 1000)
        >>> samples.shape
        torch.Size([2, 1000, 4, 5])
        >>> round(samples.double().mean().item(), 2)
        0.29
        >>> logits = np.zeros((1, 3, 4, 5))
        >>> sample_labels(logits, 4, kind='logits', noise='sobol')[0, :, 0, 0]
        array([0, 2, 1, 2], dtype=uint8)
    """
    one_of(_NOISE, noise=noise)
    positive(temperature=temperature)
    values = _as_scores(logits_or_probs)
    probs = _are_probs(values, kind)
    logits = safe_log(values.clamp_min(0)) if probs else values
    log_probs = (logits / temperature).log_softmax(1)
    if log_probs.isnan().any():
        raise UserError(
            'logits_or_probs: NaN, infinite, or pixels at which all classes '
            'are impossible; expected finite values'
        )
    names = [content_key(one) for one in values] if keys is None else keys
    if isinstance(names, str) or len(names) != len(values):
        raise UserError(
            f'keys={names!r}: expected a name for each of {len(values)} images'
        )
    gumbel = build_gumbel(values.shape[1], **settings)
    z = _NOISE[noise]()(
        names, num_samples, gumbel.noise_size, seed, values.device
    )
    labels = gumbel.labels(gumbel.likely(log_probs), z)
    labels = labels.transpose(0, 1).contiguous()
    return labels if isinstance(logits_or_probs, Tensor) else labels.numpy()


def _as_scores(given: Tensor | np.ndarray) -> Tensor:
    """Tensor (B, K, H, W) of float32."""
    values = as_tensor('logits_or_probs', given)
    if not values.is_floating_point():
        raise UserError(
            f'logits_or_probs of type {values.dtype}: expected floats'
        )
    values = values.float()
    if values.dim() != 4 or values.shape[1] < 2 or not values.numel():
        raise UserError(
            f'logits_or_probs of shape {tuple(values.shape)}: expected '
            '(images, 2 or more classes, height, width)'
        )
    return values


def _are_probs(values: Tensor, kind: str | None) -> bool:
    """Whether values (B, K, H, W) are probabilities, as said or seen."""
    inside = bool(((values > -_ROUNDING) & (values < 1 + _ROUNDING)).all())
    kind = kind or ('probs' if inside else 'logits')
    one_of(('logits', 'probs'), kind=kind)
    sums = values.sum(1) - 1
    if kind == 'probs' and not (
        inside and bool((sums.abs() < _ROUNDING).all())
    ):
        raise UserError(
            'logits_or_probs: expected probabilities that add up to 1 over '
            "classes (dimension 1); of values that are none say kind='logits'"
        )
    return kind == 'probs'
