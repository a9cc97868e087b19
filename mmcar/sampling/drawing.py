"""Label maps from probabilities: the whole of training-free sampling."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..utils.errors import UserError
from .groups import build_gumbel
from .noise import BaseNoise, NormalNoise, content_key


@torch.no_grad()
def sample_labels(
    log_probs: Tensor,
    num_samples: int = 16,
    seed: int = 0,
    *,
    keys: Sequence[str] | None = None,
    noise: BaseNoise | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    correlation_length: float | None = None,
    num_features: int = 32,
    common: float = 0.0,
    floor: float = 0.0,
) -> Tensor:
    """Draw coherent label maps whose frequencies are given probabilities.

    They are those of ``GumbelSampler`` in a model of the same seed.

    Args:
        log_probs: Log-probabilities of K classes (B, K, H, W).
        num_samples: Label maps per image, S. Fewer are the first of more.
        seed: Seed of the noise.
        keys: Name of each of the B images, which its noise follows from; by
            default the content of its log-probabilities.
        noise: Source of the noise, independent normal numbers by default.
        groups: See :class:`GroupedGumbel`.
        correlation_length: See :class:`SharedGumbel`, as all that follows.
        num_features: Likewise.
        common: Likewise.
        floor: Likewise.

    Returns:
        Label maps (S, B, H, W) as small integers.

    Example:
        >>> log_probs = torch.tensor([0.7, 0.3]).log().view(1, 2, 1, 1)
        >>> sample_labels(log_probs, 1000).float().mean().item()
        0.286...
    """
    if log_probs.dim() != 4:
        raise UserError(
            f'log_probs of shape {tuple(log_probs.shape)}: expected (images, '
            'classes, height, width)'
        )
    gumbel = build_gumbel(
        log_probs.shape[1],
        groups,
        correlation_length=correlation_length,
        num_features=num_features,
        common=common,
        floor=floor,
    ).to(log_probs.device)
    names = [content_key(one) for one in log_probs] if keys is None else keys
    if len(names) != len(log_probs):
        raise UserError(f'{len(names)} keys for {len(log_probs)} images')
    draw = noise or NormalNoise()
    z = draw(names, num_samples, gumbel.noise_size, seed, log_probs.device)
    return gumbel.labels(gumbel.likely(log_probs), z)
