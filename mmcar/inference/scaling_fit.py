"""Fit a scaling of probabilities to pixels, by maximum likelihood."""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..utils.errors import UserError
from ..utils.scaling import identity_parameters, rescale

#: Pixels that are in double precision at once.
CHUNK = 32768


class Pixels(NamedTuple):
    """Pixels of many images, to fit a scaling on.

    Attributes:
        log_probs: F's log-probabilities (N, K).
        targets: Label distribution (N, K).
        weights: How many pixels of its image each stands for (N,).
    """

    log_probs: Tensor
    targets: Tensor
    weights: Tensor

    @classmethod
    def joined(cls, images: 'Iterable[Pixels | None]') -> 'Pixels':
        """Those of several images; None has no labelled pixel."""
        found = [one for one in images if one is not None]
        if not found:
            raise UserError('labels: there is no labelled pixel to fit on')
        return cls(*(torch.cat(rows) for rows in zip(*found, strict=True)))


@dataclass(frozen=True)
class Fit:
    """What came out of fitting a scaling.

    Args:
        method: One of `METHODS`.
        weight: See `identity_parameters`.
        bias: Likewise.
        nll_before: Cross entropy of the pixels as they were.
        nll_after: The same with the scaling.
        unseen: Classes that no label has; their parameters are untouched.
        refused: Why the scaling is the identity after all, or None.
    """

    method: str
    weight: Tensor
    bias: Tensor
    nll_before: float
    nll_after: float
    unseen: tuple[int, ...] = ()
    refused: str | None = None


def draw_pixels(
    log_probs: Tensor, targets: Tensor, valid: Tensor, number: int, key: str
) -> Pixels | None:
    """Draw labelled pixels of an image, always the same ones.

    Args:
        log_probs: F's log-probabilities (K, H, W).
        targets: Label distribution (K, H, W).
        valid: Labelled pixels (H, W).
        number: How many at most.
        key: Of the image; which pixels are drawn follows from it.

    Returns:
        The pixels, on the CPU; None if nothing is labelled.
    """
    labelled = valid.flatten().nonzero()[:, 0].cpu().numpy()
    if not len(labelled):
        return None
    digest = hashlib.sha256(key.encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], 'big'))
    taken = min(number, len(labelled))
    drawn = torch.from_numpy(random.choice(labelled, taken, replace=False))
    return Pixels(
        log_probs.flatten(1).cpu()[:, drawn].T.contiguous(),
        targets.flatten(1).cpu()[:, drawn].T.contiguous(),
        torch.full((taken,), len(labelled) / taken),
    )


def cross_entropy(
    pixels: Pixels,
    method: str,
    weight: Tensor,
    bias: Tensor,
    backward: bool = False,
) -> float:
    """Mean cross entropy of scaled pixels, chunk by chunk.

    Args:
        pixels: The pixels.
        method: One of `METHODS`.
        weight: See `identity_parameters`.
        bias: Likewise.
        backward: Whether to add to the gradients of weight and bias.
    """
    total, value = pixels.weights.double().sum(), 0.0
    for parts in zip(*(rows.split(CHUNK) for rows in pixels), strict=True):
        log_probs, targets, weights = (part.double() for part in parts)
        scaled = rescale(log_probs, method, weight, bias)
        loss = -(weights * (targets * scaled).sum(1)).sum() / total
        if backward:
            loss.backward()
        value += loss.item()
    return value


def fit_scaling(pixels: Pixels, method: str, ridge: float = 1e-6) -> Fit:
    """Fit a scaling by maximum likelihood, or keep the identity.

    The problem is convex; a tiny ridge towards the identity keeps the
    solution finite where the pixels would allow any certainty.

    Args:
        pixels: What to fit on.
        method: One of `METHODS`.
        ridge: Weight of the squared distance to the identity.
    """
    num_classes = pixels.log_probs.shape[1]
    identity = identity_parameters(method, num_classes)
    start = identity[0].double(), identity[1].double()
    weight, bias = (value.clone().requires_grad_() for value in start)
    seen = pixels.targets.sum(0) > 0
    by_class = method in ('vector', 'matrix', 'dirichlet')
    optimizer = torch.optim.LBFGS(
        [weight, bias],
        max_iter=200,
        tolerance_grad=1e-9,
        tolerance_change=1e-12,
        line_search_fn='strong_wolfe',
    )

    def closure() -> float:
        optimizer.zero_grad()
        penalty = ridge * (
            (weight - start[0]).square().sum()
            + (bias - start[1]).square().sum()
        )
        penalty.backward()
        loss = cross_entropy(pixels, method, weight, bias, backward=True)
        if by_class:  # nothing is known of a class that never occurs
            for value in (weight, bias):
                assert value.grad is not None
                value.grad[~seen] = 0
        return loss + penalty.item()

    optimizer.step(closure)
    fitted = weight.detach(), bias.detach()
    before = cross_entropy(pixels, method, *start)
    after = cross_entropy(pixels, method, *fitted)
    refused = _refusal(method, fitted[0], before, after)
    if refused:
        fitted, after = start, before
    unseen = tuple((~seen).nonzero()[:, 0].tolist()) if by_class else ()
    return Fit(method, *fitted, before, after, unseen, refused)


def _refusal(
    method: str, weight: Tensor, before: float, after: float
) -> str | None:
    """Why not to use what was fitted, if there is a reason."""
    if not math.isfinite(after):
        return 'the fit did not stay finite'
    if method == 'temperature' and weight <= 0:
        return 'the best temperature would turn the probabilities around'
    if after >= before - 1e-9:
        return (
            f'the fit does not improve the cross entropy of {before:.6g} on '
            'its own half'
        )
    return None
