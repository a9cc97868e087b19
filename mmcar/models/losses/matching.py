"""Distance of matched pairs of samples and annotators, to be minimised."""

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...utils.errors import UserError
from ...utils.matching import match_repeated
from .base import SampleBatch
from .energy import SoftIoULoss, class_maps, sample_label_distance


def matched_distance(distances: Tensor, costs: Tensor | None = None) -> Tensor:
    """Mean distance of the best 1:1 matching, sets repeated to equal size.

    The gradient is that of the matched pairs, with the matching held fixed.

    Args:
        distances: Samples against labels, (M, A).
        costs: The same on the CPU, where it is there already.
    """
    if costs is None:
        costs = distances.detach().cpu()
    if not costs.isfinite().all():
        return distances.mean()  # for the trainer to find and report
    rows, columns = match_repeated(-costs.numpy())
    return distances[torch.from_numpy(rows), torch.from_numpy(columns)].mean()


@MODELS.register_module()
class MatchingLoss(SoftIoULoss):
    """One minus HM-IoU, made differentiable: each annotator gets a sample.

    The soft IoU is that of :class:`EnergyLoss`. With few samples, matching
    rewards those that stay close to the middle of the annotators: it makes
    samples sharper where F is unsure of the image itself. Alone it would give
    up diversity; it is meant to stand beside the energy loss.
    """

    loss_name = 'loss_match'

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted mean over the images that have a label."""
        samples = batch.require('samples', self)
        if batch.label_weights is not None:
            raise UserError(
                'MatchingLoss matches labels of equal weight, but the labels '
                'of this batch have weights: use EnergyLoss.'
            )
        maps, onehot, valid = class_maps(
            samples, batch.all_labels, self.classes, self.ignore_index
        )
        distances = sample_label_distance(maps, onehot, valid, self.smooth)
        # One copy of the whole batch: the assignment is solved on the CPU. A
        # map of ignored pixels only is no label.
        costs = distances.detach().cpu()  # (B, M, A)
        exists = valid.amax(-1).cpu() > 0  # (B, A)
        present = [mask.nonzero()[:, 0] for mask in exists]
        losses = [
            matched_distance(own[:, labels], cost[:, labels])
            for own, cost, labels in zip(
                distances, costs, present, strict=True
            )
            if len(labels)
        ]
        if not losses:
            return 0 * samples.sum()
        return self.loss_weight * torch.stack(losses).mean()
