"""Distance of matched pairs of samples and annotators, to be minimised."""

import math
from collections.abc import Sequence

import torch
from mmseg.registry import MODELS
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from .energy_loss import class_maps, sample_label_distance
from .losses import SampleBatch


def matched_distance(distances: Tensor) -> Tensor:
    """Mean distance of the best 1:1 matching, sets repeated to equal size.

    The gradient is that of the matched pairs, with the matching held fixed.

    Args:
        distances: Samples against labels, (M, A).
    """
    if not distances.isfinite().all():
        return distances.mean()  # for the trainer to find and report
    size = math.lcm(*distances.shape)
    rows = torch.arange(len(distances)).repeat_interleave(
        size // len(distances)
    )
    columns = torch.arange(distances.shape[1]).repeat_interleave(
        size // distances.shape[1]
    )
    costs = distances.detach().cpu()[rows][:, columns]
    matched = linear_sum_assignment(costs.numpy())
    i, j = (torch.from_numpy(index) for index in matched)
    return distances[rows[i], columns[j]].mean()


@MODELS.register_module()
class MatchingLoss(nn.Module):
    """One minus HM-IoU, made differentiable: each annotator gets a sample.

    The soft IoU is that of :class:`EnergyLoss`. With few samples, matching
    rewards those that stay close to the middle of the annotators: it makes
    samples sharper where F is unsure of the image itself. Alone it would give
    up diversity; it is meant to stand beside the energy loss.

    Args:
        loss_weight: Weight in G's loss.
        classes: Classes whose distance is averaged; None for all. (1,) for
            foreground against background.
        ignore_index: Pixels with this label are left out.
        smooth: Weight of an imaginary pixel that is on in every map.
    """

    loss_name = 'loss_match'
    needs_samples = True

    def __init__(
        self,
        loss_weight: float = 10.0,
        classes: Sequence[int] | None = None,
        ignore_index: int = 255,
        smooth: float = 1.0,
    ) -> None:
        super().__init__()
        if smooth < 0:
            raise ValueError(f'smooth={smooth}: expected a value >= 0.')
        self.loss_weight = loss_weight
        self.classes = classes
        self.ignore_index = ignore_index
        self.smooth = smooth

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted mean over the images that have a label."""
        samples = batch.require('samples', self)
        if batch.label_weights is not None:
            raise ValueError(
                'MatchingLoss matches labels of equal weight, but the labels '
                'of this batch have weights: use EnergyLoss.'
            )
        labels = batch.labels
        if labels is None:
            labels = batch.label.unsqueeze(1)
        maps, onehot, valid = class_maps(
            samples, labels, self.classes, self.ignore_index
        )
        distances = sample_label_distance(maps, onehot, valid, self.smooth)
        # A map of ignored pixels only is no label.
        exists = valid.amax(-1) > 0  # (B, A)
        losses = [
            matched_distance(own[:, mask])
            for own, mask in zip(distances, exists, strict=True)
            if mask.any()
        ]
        if not losses:
            return 0 * samples.sum()
        return self.loss_weight * torch.stack(losses).mean()
