"""What is said of classes of labels that flip at random by a known table."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ...structures import ClassFlips
from ...utils.ids import has_id
from .inputs import check_maps, check_probs, check_same_size


def flip_observations(
    label: Tensor, flips: Iterable[Sequence]
) -> tuple[Tensor, Tensor]:
    """The two labels that a pixel can have, and their probabilities.

    Args:
        label: Base label, shape (H, W).
        flips: A table, or its rows (class, twin, probability).

    Returns:
        Labels and weights, both (2, H, W): base, flipped.
    """
    table = ClassFlips.parse(flips)
    flipped = torch.zeros(label.shape, dtype=torch.float64).to(label.device)
    for c, _, p in table:
        flipped[has_id(label, c)] = p
    return (
        torch.stack([label, table.flip_all(label)]),
        torch.stack([1 - flipped, flipped]),
    )


@torch.no_grad()
def flip_probability_sums(
    probs: Tensor,
    label: Tensor,
    *,
    flips: Iterable[Sequence],
    mask: Tensor | None = None,
    ignore_index: int = 255,
) -> Tensor:
    """What a model says of each twin where the label has its class.

    Args:
        probs: Class probabilities of an image (K, H, W).
        label: Base label (H, W).
        flips: A table of n rows, or its rows (class, twin, probability).
        mask: Pixels to use, (H, W) bool; None is all. For a calibration
            net on a black box: where the black box agrees with the label.
        ignore_index: Label id that is no observation.

    Returns:
        Shape (n, 2), float64: sum of the twin's probability, number of
        pixels. Add them over images, then call :func:`flip_offsets`.
    """
    check_probs(probs)
    table = ClassFlips.parse(flips, len(probs))
    check_maps('label', label[None], len(probs), ignore_index)
    check_same_size(probs=probs, label=label)
    seen = ~has_id(label, ignore_index)
    seen = seen if mask is None else seen & mask
    rows = []
    for c, twin, _ in table:
        where = has_id(label, c) & seen
        said = (probs[twin].double() * where).sum()
        rows.append(torch.stack([said, where.sum()]))
    return torch.stack(rows)


def flip_offsets(sums: Tensor, flips: Iterable[Sequence]) -> Tensor:
    """Calibration offset ``|true - predicted probability|`` of every twin.

    Args:
        sums: Shape (n, 2) from :func:`flip_probability_sums`.
        flips: A table of n rows, or its rows (class, twin, probability).

    Returns:
        Shape (n,); NaN for a class without pixels.
    """
    true = sums.new_tensor([p for _, _, p in flips])
    return (true - sums[:, 0] / sums[:, 1]).abs()
