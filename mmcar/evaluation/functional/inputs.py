"""The one door of all functions: maps, probabilities, weights, and axes.

Images come first: samples are (N, S, H, W), labels (N, A, H, W), probabilities
(N, K, H, W). One image may do without its N. NumPy arrays are taken as well.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...utils.arrays import Maps, as_tensor
from ...utils.errors import UserError
from ...utils.ids import has_id

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_maps(
    name: str, maps: Tensor, num_classes: int, ignore_index: int | None = None
) -> None:
    """Raise a UserError unless ``maps`` is a set of integer label maps.

    Args:
        name: What the maps are called in the message.
        maps: Shape (M, H, W) with M > 0.
        num_classes: Ids must lie in ``0 .. num_classes - 1``.
        ignore_index: The one other id allowed; None allows no other.
    """
    if maps.dtype not in _INTEGERS:
        raise UserError(
            f'{name}: expected integer label maps, got {maps.dtype}; take the '
            'argmax of probabilities first'
        )
    if maps.dim() != 3 or 0 in maps.shape:
        raise UserError(
            f'{name}: expected a non-empty shape (maps, height, width), got '
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
    """Raise a UserError unless these are probabilities (..., K, H, W)."""
    if not probs.is_floating_point() or probs.dim() < 3 or 0 in probs.shape:
        raise UserError(
            'probs: expected floats of a non-empty shape (classes, height, '
            f'width), got {probs.dtype} of shape {tuple(probs.shape)}'
        )
    low, high = (bound.item() for bound in probs.aminmax())
    if math.isnan(low) or low < -1e-5 or high > 1 + 1e-5:
        raise UserError(
            'probs: expected probabilities in [0, 1], not logits and not NaN; '
            f'found {low:.3g} to {high:.3g}'
        )


def check_same_size(**maps: Tensor) -> None:
    """Raise a UserError unless the named maps agree in height and width."""
    if len({m.shape[-2:] for m in maps.values()}) > 1:
        shapes = ', '.join(f'{k} {tuple(m.shape)}' for k, m in maps.items())
        raise UserError(f'expected maps of one size (H, W), got {shapes}')


def split_images(**sets: Maps | None) -> list[list[Any]]:
    """Split sets of maps, (N, M, H, W) or (M, H, W), into those of images.

    Args:
        sets: By name; one that is None is None for each image.

    Returns:
        For each of the N images, or the one, its sets (M, H, W).
    """
    given = {k: as_tensor(k, m) for k, m in sets.items() if m is not None}
    lead = {m.shape[:-3] for m in given.values()}
    dims = {m.dim() for m in given.values()}
    if dims not in ({3}, {4}) or len(lead) > 1 or 0 in lead.pop():
        shapes = ', '.join(f'{k} {tuple(m.shape)}' for k, m in given.items())
        raise UserError(
            'expected sets of maps with one leading image dimension, (images, '
            f'maps, height, width), or one image without it; got {shapes}'
        )
    if dims == {3}:
        return [[given.get(name) for name in sets]]
    number = len(next(iter(given.values())))
    every = [given.get(name, [None] * number) for name in sets]
    return [list(image) for image in zip(*every, strict=True)]


def per_image(
    score: Callable[..., Any],
    samples: Maps,
    labels: Maps,
    sample_weights: Maps | None = None,
    label_weights: Maps | None = None,
    num_samples: int | None = None,
) -> Any:
    """Score the sets of maps of one image, or of N images one by one.

    Args:
        score: Called with samples (S, H, W), labels (A, H, W), and weights
            (S,) and (A,) or None.
        samples: Shape (S, H, W) or (N, S, H, W).
        labels: Shape (A, H, W) or (N, A, H, W).
        sample_weights: Shape (S,) or (N, S).
        label_weights: Shape (A,) or (N, A).
        num_samples: S, to make sure that the axes are in this order.

    Returns:
        What ``score`` returns: of N images tensors and named tuples of
        tensors stacked, all else a list.
    """
    images = split_images(samples=samples, labels=labels)
    if num_samples not in (None, samples.shape[-3]):
        raise UserError(
            f'num_samples={num_samples}: expected (images, samples, height, '
            f'width), got {tuple(samples.shape)}'
        )
    weights = (
        image_weights('sample_weights', sample_weights, samples),
        image_weights('label_weights', label_weights, labels),
    )
    scores = [
        score(*maps, v, w) for maps, v, w in zip(images, *weights, strict=True)
    ]
    if samples.ndim == 3:
        return scores[0]
    if isinstance(scores[0], Tensor):
        return torch.stack(scores)
    if isinstance(scores[0], tuple):
        return type(scores[0])(*map(torch.stack, zip(*scores, strict=True)))
    return scores


def image_weights(
    name: str, weights: Maps | None, maps: Maps
) -> list[Tensor | None]:
    """Weights of the maps of each image, or None for each.

    Args:
        name: What the weights are called in the message.
        weights: Shape (M,), the same for all images, or (N, M).
        maps: Shape (M, H, W), or (N, M, H, W).

    Returns:
        One tensor (M,) per image, float64, on the device of the maps.
    """
    number = len(maps) if maps.ndim == 4 else 1
    if weights is None:
        return [None] * number
    device = maps.device if isinstance(maps, Tensor) else None
    weights = torch.as_tensor(weights, dtype=torch.float64, device=device)
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
