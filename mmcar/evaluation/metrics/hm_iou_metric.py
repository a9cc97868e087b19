"""Hungarian-matched IoU as a metric."""

from mmseg.registry import METRICS

from ..functional.matching import best_match_from_iou, matched_iou_from_iou
from .pairs import label_ious
from .sample_metric import SampleMetric


@METRICS.register_module()
class HMIoUMetric(SampleMetric):
    """Hungarian-matched IoU, ``HM-IoU_n``, larger is better.

    Also ``D_max_n``: the IoU of every label with its nearest sample, averaged
    over labels. Takes the arguments of :class:`SampleMetric`.
    """

    title = 'HM-IoU'

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        scores = {}
        for n in self.num_samples:
            iou = label_ious(data_sample, n, self.conventions)
            best = best_match_from_iou(iou).nanmean()
            scores[f'HM-IoU_{n}'] = matched_iou_from_iou(iou).item()
            scores[f'D_max_{n}'] = best.item()
        return scores
