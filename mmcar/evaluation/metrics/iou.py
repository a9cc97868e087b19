"""MMSegmentation's mIoU, of the model and of its black box."""

from collections.abc import Sequence

import torch
from mmseg.evaluation.metrics import IoUMetric
from mmseg.registry import METRICS
from torch import Tensor

from ...structures import check_predicted
from ...utils.errors import UserError
from .base import image_name, labels_of, refuse_nonfinite


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
        pred_label: Tensor, label: Tensor, num_classes: int, ignore_index: int
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
        label, pred_label = label.long(), pred_label.long()
        rows, columns = (
            ids.where((ids >= 0) & (ids < num_classes), other)
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


@METRICS.register_module()
class BlackBoxIoUMetric(FiniteIoUMetric):
    """``IoUMetric`` of B's decision in place of the model's.

    Where B has seen the image as it lies on disk, that is the decision that
    MMSeg makes of it, at the size of the file; else the most probable class
    of ``black_box_probs``. Classes that neither B nor a label has, such as
    the twins of class flips, do not count.

    Takes the arguments of ``IoUMetric``.
    """

    default_prefix = 'black_box'

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Count the pixels of every image."""
        super().process(data_batch, [self._decision(s) for s in data_samples])

    def _decision(self, data_sample: dict) -> dict:
        """A data sample whose prediction is B's."""
        size = tuple(labels_of(data_sample).shape[-2:])
        if 'black_box_probs' not in data_sample:
            raise UserError(
                f'{image_name(data_sample)}: no black_box_probs, no black box'
            )
        probs = data_sample['black_box_probs']['data']
        check_predicted(len(probs), self.dataset_meta, 'the black box')
        classes = (self.dataset_meta or {}).get('classes', ())
        if classes and len(probs) > len(classes):
            raise UserError(
                f'the black box predicts {len(probs)} classes, but the data '
                f'set has {len(classes)}: their ids cannot be compared'
            )
        decision = probs.argmax(0, keepdim=True)  # (1, H, W)
        if 'black_box_sem_seg' in data_sample:
            own = data_sample['black_box_sem_seg']['data']
            # Labels that were resized need a decision of their size.
            decision = own if tuple(own.shape[-2:]) == size else decision
        kept = {'gt_sem_seg', 'img_path', 'sample_key'} & data_sample.keys()
        seen = {key: data_sample[key] for key in kept}
        return seen | dict(pred_sem_seg=dict(data=decision))
