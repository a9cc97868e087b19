"""What sets one label map apart from another, in numbers and words."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Change(NamedTuple):
    """Pixels that a hypothesis gives to another class than the decision.

    Attributes:
        before: Class id in the decision.
        after: Class id in the hypothesis.
        pixels: How many pixels change.
        share: Their share of the image.
        centre: Their mean row and column, from 0 to 1.
    """

    before: int
    after: int
    pixels: int
    share: float
    centre: tuple[float, float]


def find_changes(
    decision: Tensor, label_map: Tensor, num_classes: int, limit: int = 3
) -> tuple[Change, ...]:
    """The largest differences of a map from the decision.

    Args:
        decision: Label map (H, W).
        label_map: Label map (H, W).
        num_classes: Number of classes K.
        limit: Changes returned at most.

    Returns:
        Pairs of classes with most changed pixels, largest first.
    """
    pairs = decision.long() * num_classes + label_map.long()
    counts = torch.bincount(pairs.flatten(), minlength=num_classes**2)
    counts = counts.view(num_classes, num_classes).fill_diagonal_(0)
    order = counts.flatten().argsort(descending=True, stable=True)
    size = torch.tensor(decision.shape, dtype=torch.float64)
    changes = []
    for pair in order[:limit].tolist():
        number = int(counts.flatten()[pair])
        if not number:
            break
        places = (pairs == pair).nonzero().double().cpu()
        row, column = ((places.mean(0) + 0.5) / size).tolist()
        share = number / decision.numel()
        before, after = divmod(pair, num_classes)
        changes.append(Change(before, after, number, share, (row, column)))
    return tuple(changes)


def describe_changes(changes: Sequence[Change], classes: Sequence[str]) -> str:
    """Put what sets a hypothesis apart into words.

    Args:
        changes: Against the decision.
        classes: Names of the classes.
    """
    if not changes:
        return 'as the decision'
    return '; '.join(
        f'{classes[change.after]} instead of {classes[change.before]} on '
        f'{_percent(change.share)} of the image ({_pixels(change.pixels)}, '
        f'{_place(change.centre)})'
        for change in changes
    )


def _pixels(number: int) -> str:
    return f'{number} pixel' if number == 1 else f'{number} pixels'


def _percent(share: float) -> str:
    return f'{100 * share:.1f} %' if share >= 0.001 else '< 0.1 %'


def _place(centre: tuple[float, float]) -> str:
    """A place in the image in words, by thirds."""
    row = ('top', '', 'bottom')[min(int(3 * centre[0]), 2)]
    column = ('left', '', 'right')[min(int(3 * centre[1]), 2)]
    return ' '.join(part for part in (row, column) if part) or 'centre'
