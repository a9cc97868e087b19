"""What is said of classes of labels that flip at random by a known table."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ...structures import ClassFlips
from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import check_maps, check_probs


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
        probs: Class probabilities, shape ([N,] K, H, W).
        label: Base label, shape ([N,] H, W).
        flips: A table of n rows, or its rows (class, twin, probability).
        mask: Pixels to use, ([N,] H, W) bool; None is all. For a calibration
            net on a black box: where the black box agrees with the label.
        ignore_index: Label id that is no observation.

    Returns:
        Shape ([N,] n, 2), float64: sum of the twin's probability, number of
        pixels. Add them over images, then call :func:`flip_offsets`.
    """
    check_probs(probs)
    num_classes = probs.shape[-3]
    table = ClassFlips.parse(flips, num_classes)
    if label.shape != probs.shape[:-3] + probs.shape[-2:]:
        raise UserError(
            'label: expected one map per image of probs '
            f'{tuple(probs.shape)}, got {tuple(label.shape)}'
        )
    maps = label.reshape(-1, *label.shape[-2:])
    check_maps('label', maps, num_classes, ignore_index)
    if mask is not None and mask.shape != label.shape:
        raise UserError(
            f'mask: expected the shape of label {tuple(label.shape)}, got '
            f'{tuple(mask.shape)}'
        )
    seen = ~has_id(label, ignore_index)
    seen = seen if mask is None else seen & mask
    rows = []
    for c, twin, _ in table:
        where = has_id(label, c) & seen
        said = probs[..., twin, :, :].double() * where
        rows.append(torch.stack([said.sum((-2, -1)), where.sum((-2, -1))], -1))
    return torch.stack(rows, -2)


def flip_offsets(sums: Tensor, flips: Iterable[Sequence]) -> Tensor:
    """Calibration offset ``|true - predicted probability|`` of every twin.

    Args:
        sums: Shape (..., n, 2) from :func:`flip_probability_sums`.
        flips: A table of n rows, or its rows (class, twin, probability).

    Returns:
        Shape (..., n); NaN for a class without pixels.
    """
    true = sums.new_tensor([p for _, _, p in flips])
    return (true - sums[..., 0] / sums[..., 1]).abs()
