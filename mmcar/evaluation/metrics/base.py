"""What metrics of predicted images have in common."""

import csv
import io
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from mmengine.evaluator import BaseMetric

from ...utils.checks import one_of
from ...utils.errors import UserError
from ...utils.files import write_file
from ..functional import Comparison
from ..functional.bounds import mean_scores
from .classes import class_ids, class_number
from .fields import count_unlabelled, image_name, refuse_nonfinite


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


class SampleMetric(ImageMetric):
    """The base of GED and HM-IoU; a subclass says how to score an image.

    An image without a score is left out of the mean and counted, as
    ``<score>_left_out``. So are annotators who labelled no pixel of an image,
    as ``<metric>_labels_left_out``.

    Args:
        num_samples: One or several sample counts n; each is scored on the
            first n of the samples that the model drew.
        num_classes: Number of classes; None asks the data set.
        classes: Ids or names of the classes that the IoU is averaged over;
            None is (1,) for two classes, else all. A part of more than two
            classes, beyond class 0, is chosen by name.
        absent: What a class missing from both maps counts, 'skip' or 'one';
            None is 'one' for two classes, else 'skip'.
        ignore_index: Id of unlabelled pixels.
        csv_file: Where to write the scores of every image; None is nowhere.
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

    title: str | None = None
    """Name of the metric in its counts; None is that of the class."""

    def __init__(
        self,
        num_samples: int | Sequence[int] = 16,
        num_classes: int | None = None,
        classes: Sequence[int | str] | None = None,
        absent: str | None = None,
        ignore_index: int = 255,
        csv_file: str | None = None,
        collect_device: str = 'cpu',
        prefix: str | None = None,
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        counts = [num_samples] if isinstance(num_samples, int) else num_samples
        if not counts or min(counts) < 1:
            raise UserError(f'num_samples: expected counts > 0, got {counts}')
        self.num_samples = tuple(counts)
        self.ignore_index = ignore_index
        self.csv_file = csv_file
        self._num_classes = num_classes
        self._classes = classes
        self._absent = absent
        self._how: Comparison | None = None

    @property
    def dataset_meta(self) -> dict | None:
        """Metainfo of the data set."""
        return self._dataset_meta

    @dataset_meta.setter
    def dataset_meta(self, dataset_meta: dict | None) -> None:
        # Loops set it when they are built: a mistake costs no iteration.
        self._dataset_meta = dataset_meta
        self._how = None if dataset_meta is None else self._resolve()

    @property
    def how(self) -> Comparison:
        """How maps are compared, checked against the data set."""
        if self._how is None:
            self._how = self._resolve()
        return self._how

    def _resolve(self) -> Comparison:
        number = class_number(self._num_classes, self.class_names)
        ids = class_ids(self._classes, self.class_names, number)
        return Comparison(number, ids, self._absent, self.ignore_index)

    @abstractmethod
    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image, NaN where it has none."""

    def measure(self, data_sample: dict) -> dict:
        """Scores of one image, its name, and labels that are no labels."""
        return {
            'image': image_name(data_sample),
            **self.score(data_sample),
            'labels_left_out': count_unlabelled(
                data_sample, self.ignore_index
            ),
        }

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Average over the images that have a score; count the others."""
        if self.csv_file is not None:
            write_csv(self.csv_file, results)
        scores = [
            {k: v for k, v in result.items() if k != 'image'}
            for result in results
        ]
        means = mean_scores(scores)
        title = self.title or type(self).__name__
        means[f'{title}_labels_left_out'] = means.pop('labels_left_out')
        return means


def write_csv(path: str, rows: Sequence[dict]) -> None:
    """Write dicts with the same keys as a table, keys in the first line."""
    text = io.StringIO(newline='')
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue().encode())
