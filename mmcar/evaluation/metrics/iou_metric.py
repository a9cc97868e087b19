"""MMSegmentation's mIoU, for predictions that are finite."""

from collections.abc import Sequence

from mmseg.evaluation.metrics import IoUMetric
from mmseg.registry import METRICS

from .fields import refuse_nonfinite


@METRICS.register_module()
class FiniteIoUMetric(IoUMetric):
    """``IoUMetric``, but a NaN is an error and not a pixel of class 0."""

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Count the pixels of every image."""
        for data_sample in data_samples:
            refuse_nonfinite(data_sample)
        super().process(data_batch, data_samples)
