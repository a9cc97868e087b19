"""Hungarian-matched IoU as a metric."""

from mmseg.registry import METRICS

from ...structures import class_flips_of
from ...utils.errors import UserError
from ..functional.hm_iou import best_match_from_iou, matched_iou_from_iou
from ..functional.iou import cross_class_ious
from .base import SampleMetric
from .fields import image_name, labels_of, samples_of, weights_of


@METRICS.register_module()
class HMIoUMetric(SampleMetric):
    """Hungarian-matched IoU, ``HM-IoU_n``, larger is better.

    Also ``D_max_n``: the IoU of every label with its nearest sample, averaged
    over labels. Takes the arguments of :class:`SampleMetric`.
    """

    title = 'HM-IoU'

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        if class_flips_of(data_sample):
            raise UserError(
                f'{image_name(data_sample)}: HM-IoU matches samples to labels '
                'that are given, but here labels flip by a table; use '
                'GEDMetric'
            )
        every = cross_class_ious(
            samples_of(data_sample, max(self.num_samples)),
            labels_of(data_sample),
            self.how,
        ).labelled_mean(self.how.rule)
        scores = {}
        for n in self.num_samples:
            iou = every[:n]
            best = best_match_from_iou(iou).nanmean()
            matched = matched_iou_from_iou(iou, weights_of(data_sample, n))
            scores[f'HM-IoU_{n}'] = matched.item()
            scores[f'D_max_{n}'] = best.item()
        return scores
