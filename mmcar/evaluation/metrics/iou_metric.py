"""MMSegmentation's mIoU, for predictions that are finite."""

from collections.abc import Sequence

import torch
from mmseg.evaluation.metrics import IoUMetric
from mmseg.registry import METRICS
from torch import Tensor

from .fields import refuse_nonfinite


@METRICS.register_module()
class FiniteIoUMetric(IoUMetric):
    """``IoUMetric``, but a NaN is an error and not a pixel of class 0.

    Pixels are counted once, as whole numbers, in place of three histograms.
    """

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Count the pixels of every image."""
        for data_sample in data_samples:
            refuse_nonfinite(data_sample)
        super().process(data_batch, data_samples)

    @staticmethod
    def intersect_and_union(
        pred_label: Tensor,
        label: Tensor,
        num_classes: int,
        ignore_index: int,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Areas of every class in one image.

        Args:
            pred_label: Predicted ids (H, W).
            label: Labelled ids (H, W).
            num_classes: Number of classes K.
            ignore_index: Id of pixels that do not count.

        Returns:
            Intersection, union, predicted and labelled area, each (K,).
        """
        other = num_classes  # ids that are no class
        rows, columns = (
            ids.long().where((ids >= 0) & (ids < num_classes), other)
            for ids in (label, pred_label)
        )
        size = other + 1
        joint = (rows * size + columns).flatten()
        counted = (label != ignore_index).flatten()
        joint = joint.where(counted, size**2)
        table = torch.bincount(joint, minlength=size**2 + 1)[: size**2]
        table = table.view(size, size).cpu().double()
        labelled, predicted = table.sum(1)[:other], table.sum(0)[:other]
        both = table.diagonal()[:other]
        return both, labelled + predicted - both, predicted, labelled
