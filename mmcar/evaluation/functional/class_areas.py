"""How much of each class a model expects, and how much was labelled."""

import torch
from torch import Tensor

from .calibration import observe


@torch.no_grad()
def class_area_sums(
    probs: Tensor,
    labels: Tensor,
    *,
    weights: Tensor | None = None,
    ignore_index: int = 255,
) -> Tensor:
    """Expected and labelled area of each class in one image.

    Over all observations: a pixel counts once per label that has it, with
    the weight of that label. Of a calibrated model both areas are equal.

    Args:
        probs: Class probabilities (K, H, W).
        labels: One map (H, W) or several (A, H, W).
        weights: Weight of every observation (A, H, W); None is 1.
        ignore_index: Label id that is no observation.

    Returns:
        Shape (2, K), float64, on the CPU: expected, labelled. Add them over
        images.
    """
    _, ids, weights = observe(probs, labels, weights, ignore_index)
    count = weights.sum(0)  # (H, W)
    expected = (probs.double() * count).sum((1, 2))
    labelled = torch.bincount(ids.flatten(), weights.flatten(), len(probs))
    return torch.stack([expected, labelled]).cpu()
