"""What all metrics on predicted images have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from mmengine.evaluator import BaseMetric

from ...utils.checks import one_of
from .fields import refuse_nonfinite


class ImageMetric(BaseMetric):
    """Exactly one result per image, none of a prediction that is not finite.

    Args:
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

    default_prefix = ''  # None would make MMEngine warn

    def __init__(
        self, collect_device: str = 'cpu', prefix: str | None = None
    ) -> None:
        one_of(('cpu', 'gpu', 'npu'), collect_device=collect_device)
        super().__init__(collect_device=collect_device, prefix=prefix)

    @abstractmethod
    def measure(self, data_sample: dict) -> Any:
        """What :meth:`compute_metrics` needs of one image."""

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Measure every image; exactly one result each."""
        for data_sample in data_samples:
            refuse_nonfinite(data_sample)
            self.results.append(self.measure(data_sample))

    @property
    def class_names(self) -> Sequence[str] | None:
        """Names of the data set's classes, if it told them."""
        return (self.dataset_meta or {}).get('classes')

    def name_of(self, class_id: int) -> str:
        """The name of a class; its id where the data set told none."""
        names = self.class_names
        return names[class_id] if names else str(class_id)
