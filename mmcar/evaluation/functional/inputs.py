"""Checks of label maps and probabilities, shared by all functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...utils.errors import UserError
from ...utils.ids import has_id

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_maps(
    name: str, maps: Tensor, num_classes: int, ignore_index: int | None = None
) -> None:
    """Raise a ValueError unless ``maps`` is a set of integer label maps.

    Args:
        name: What the maps are called in the message.
        maps: Shape (N, H, W) with N > 0.
        num_classes: Ids must lie in ``0 .. num_classes - 1``.
        ignore_index: The one other id allowed; None allows no other.
    """
    if not isinstance(maps, Tensor) or maps.dtype not in _INTEGERS:
        kind = maps.dtype if isinstance(maps, Tensor) else type(maps).__name__
        raise UserError(
            f'{name}: expected integer label maps, got {kind}; take the '
            'argmax of probabilities first'
        )
    if maps.dim() != 3 or 0 in maps.shape:
        raise UserError(
            f'{name}: expected a non-empty shape (N, H, W), got '
            f'{tuple(maps.shape)}'
        )
    low, high = int(maps.min()), int(maps.max())
    if low >= 0 and high < num_classes:
        return
    wrong = (maps < 0) | (maps >= num_classes)
    if ignore_index is not None:
        wrong &= ~has_id(maps, ignore_index)
    if wrong.any():
        ids = maps[wrong].unique().tolist()[:5]
        extra = '' if ignore_index is None else f' or {ignore_index} (ignored)'
        raise UserError(
            f'{name}: expected ids in 0..{num_classes - 1}{extra}, found {ids}'
        )


def check_probs(probs: Tensor) -> None:
    """Raise a ValueError unless these are probabilities (..., K, H, W)."""
    if not isinstance(probs, Tensor) or not probs.is_floating_point():
        kind = getattr(probs, 'dtype', type(probs).__name__)
        raise UserError(f'probs: expected a tensor of floats, got {kind}')
    if probs.dim() < 3 or 0 in probs.shape:
        raise UserError(
            'probs: expected a non-empty shape (K, H, W), got '
            f'{tuple(probs.shape)}'
        )
    low, high = (bound.item() for bound in probs.aminmax())
    if math.isnan(low):
        raise UserError('probs: expected probabilities in [0, 1], found NaN')
    if low < -1e-5 or high > 1 + 1e-5:
        raise UserError(
            f'probs: expected probabilities in [0, 1], found {low:.3g} to '
            f'{high:.3g}; not logits'
        )


def check_classes(classes: Sequence[int] | None, num_classes: int) -> list:
    """Return the class ids to average over, all of them for None."""
    ids = list(range(num_classes) if classes is None else classes)
    valid = all(0 <= c < num_classes for c in ids)
    if not ids or not valid or len(set(ids)) < len(ids):
        raise UserError(
            f'classes: expected distinct ids in 0..{num_classes - 1}, '
            f'got {ids}'
        )
    return ids


def check_same_size(**maps: Tensor) -> None:
    """Raise a ValueError unless the named maps agree in height and width."""
    if len({m.shape[-2:] for m in maps.values()}) > 1:
        shapes = ', '.join(f'{k} {tuple(m.shape)}' for k, m in maps.items())
        raise UserError(f'expected maps of one size (H, W), got {shapes}')


def split_images(
    samples: Tensor, labels: Tensor, label_dim: int = 3
) -> list[tuple[Tensor, Tensor]]:
    """Split an optional leading image dimension off two sets of maps.

    Args:
        samples: Shape (S, H, W), or (N, S, H, W) for N images.
        labels: Maps of the same images; ``label_dim`` dimensions per image.
        label_dim: 3 for a set of maps per image, 2 for one map.

    Returns:
        One pair of tensors per image.
    """
    for name, maps in (('samples', samples), ('labels', labels)):
        if not isinstance(maps, Tensor):
            kind = type(maps).__name__
            raise UserError(f'{name}: expected a tensor, got {kind}')
    if samples.dim() == 4 and labels.dim() == label_dim + 1:
        if len(samples) == len(labels) > 0:
            return list(zip(samples, labels, strict=True))
    elif samples.dim() == 3 and labels.dim() == label_dim:
        return [(samples, labels)]
    one = '(A, H, W)' if label_dim == 3 else '(H, W)'
    raise UserError(
        f'expected samples (S, H, W) with labels {one}, or both with the '
        f'same leading image dimension; got samples {tuple(samples.shape)} '
        f'and labels {tuple(labels.shape)}'
    )


def join_images(scores: list, samples: Tensor) -> Any:
    """Undo :func:`split_images`: stack only if there was a leading N.

    Args:
        scores: Of each image, a tensor or a named tuple of tensors.
        samples: What was split.
    """
    if samples.dim() != 4:
        return scores[0]
    if isinstance(scores[0], Tensor):
        return torch.stack(scores)
    return type(scores[0])(*map(torch.stack, zip(*scores, strict=True)))


def per_image(
    score: Callable[..., Tensor],
    samples: Tensor,
    labels: Tensor,
    sample_weights: Tensor | None = None,
) -> Tensor:
    """Score the sets of maps of one image, or of N images one by one.

    Args:
        score: Called with samples (S, H, W), labels (A, H, W) and, if there
            are any, weights (S,).
        samples: Shape (S, H, W) or (N, S, H, W).
        labels: Shape (A, H, W) or (N, A, H, W).
        sample_weights: Shape (S,) or (N, S).

    Returns:
        What ``score`` returns, with a leading N if the maps have one.
    """
    pairs: list[tuple] = list(split_images(samples, labels))
    if sample_weights is not None:
        weights = image_weights('sample_weights', sample_weights, samples)
        pairs = [(*p, w) for p, w in zip(pairs, weights, strict=True)]
    return join_images([score(*maps) for maps in pairs], samples)


def image_weights(
    name: str, weights: Tensor | None, maps: Tensor
) -> list[Tensor | None]:
    """Weights of the maps of each image, or None for each.

    Args:
        name: What the weights are called in the message.
        weights: Shape (S,), the same for all images, or (N, S).
        maps: Shape (S, H, W), or (N, S, H, W).

    Returns:
        One tensor (S,) per image, float64.
    """
    number = len(maps) if maps.dim() == 4 else 1
    if weights is None:
        return [None] * number
    weights = torch.as_tensor(weights, dtype=torch.float64, device=maps.device)
    if weights.shape not in (maps.shape[-3:-2], maps.shape[:-2]):
        raise UserError(
            f'{name}: expected shape {tuple(maps.shape[:-2])} as of the maps, '
            f'got {tuple(weights.shape)}'
        )
    ok = weights.isfinite().all() and (weights >= 0).all()
    if not ok or (weights.sum(-1) <= 0).any():
        raise UserError(
            f'{name}: expected finite weights >= 0 with a positive sum, got '
            f'{weights.tolist()}'
        )
    return list(weights.expand(number, -1))
