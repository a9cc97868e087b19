"""Samples that flood: a class larger than anybody has ever drawn it."""

from collections.abc import Iterable

import torch
from torch import Tensor

from .class_flips import ClassFlips


def class_shares(labels: Tensor, num_classes: int) -> Tensor:
    """Share of its pixels that each label map gives to each class.

    Args:
        labels: Integer label maps (N, H, W); other ids, such as the ignored,
            belong to no class.
        num_classes: Number of classes K.

    Returns:
        (N, K), float64.
    """
    flat = labels.flatten(1).long()
    flat = flat.where((flat >= 0) & (flat < num_classes), num_classes)
    counts = flat.new_zeros(len(flat), num_classes + 1)
    counts.scatter_add_(1, flat, torch.ones_like(flat))
    return counts[:, :num_classes].double() / flat.shape[1]


def max_class_area(
    annotations: Iterable[Tensor],
    num_classes: int,
    flips: ClassFlips | None = None,
) -> Tensor:
    """The largest share (K,) of each class in any of many label maps.

    Args:
        annotations: Label maps (A, H, W) of each image.
        num_classes: Number of classes K.
        flips: Table of classes that turn into twins, which may cover as
            much as their class.
    """
    largest = torch.zeros(num_classes, dtype=torch.float64)
    for labels in annotations:
        shares = class_shares(labels, num_classes).amax(0)
        largest = torch.maximum(largest, shares.cpu())
    for source, twin, _ in flips or ():
        pair = [source, twin]
        largest[pair] = largest[pair].max()
    return largest


def floods(
    samples: Tensor, largest: Tensor, classes: Iterable[int] | None = None
) -> Tensor:
    """Which samples have a class that covers more than its largest share.

    Args:
        samples: Label maps (S, H, W).
        largest: Largest share (K,) of each class, see `max_class_area`.
        classes: Ids that count; None is all.

    Returns:
        (S,), bool.
    """
    shares = class_shares(samples, len(largest))
    chosen = list(range(len(largest)) if classes is None else classes)
    return (shares > largest.to(shares))[:, chosen].any(1)
