"""GED and HM-IoU as metrics of MMEngine; the work is in ``functional``."""

import csv
import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS

from ..structures import class_flips_of
from ..utils.errors import UserError
from .functional.energy import EnergyTerms, energy_terms_from_iou
from .functional.flips import flip_terms_from_iou
from .functional.matching import best_match_from_iou, matched_iou_from_iou
from .pairs import (
    first_samples,
    flip_pair_ious,
    image_name,
    labels_of,
    pair_ious,
)


class SampleMetric(BaseMetric):
    """Scores per image from its samples and labels, averaged over images.

    Two classes are read as background and foreground, and scored as the
    literature does: IoU of the foreground, 1 if both maps are empty.

    Args:
        num_samples: One or several sample counts n; each is scored on the
            first n of the samples that the model drew.
        num_classes: Number of classes; None asks the data set.
        classes: Ids that the IoU is averaged over; None is (1,) for two
            classes, else all.
        absent: What a class missing from both maps counts, 'skip' or 'one';
            None is 'one' for two classes, else 'skip'.
        ignore_index: Id of unlabelled pixels.
        csv_file: Where to write the scores of every image; None is nowhere.
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

    default_prefix = ''  # None would make MMEngine warn

    def __init__(
        self,
        num_samples: int | Sequence[int] = 16,
        num_classes: int | None = None,
        classes: Sequence[int] | None = None,
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
        if absent not in (None, 'skip', 'one'):
            raise UserError(
                f"absent: expected 'skip', 'one' or None, got {absent!r}"
            )
        self.num_samples = tuple(counts)
        self._num_classes = num_classes
        self._classes = classes
        self._absent = absent
        self.ignore_index = ignore_index
        self.csv_file = csv_file

    @property
    def num_classes(self) -> int:
        """Number of classes, of the data set unless given."""
        return self._num_classes or len(self.dataset_meta['classes'])

    @property
    def classes(self) -> Sequence[int] | None:
        """Ids that the IoU is averaged over; None is all."""
        if self._classes is None and self.num_classes == 2:
            return (1,)
        return self._classes

    @property
    def absent(self) -> str:
        """What a class missing from both maps counts."""
        return self._absent or ('one' if self.num_classes == 2 else 'skip')

    @abstractmethod
    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image, NaN where it has none."""

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Score every image; exactly one result each."""
        for data_sample in data_samples:
            scores = {'image': image_name(data_sample)}
            self.results.append(scores | self.score(data_sample))

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Average over the images that have a score; count the others."""
        if self.csv_file is not None:
            write_csv(self.csv_file, results)
        metrics = {}
        for name in (key for key in results[0] if key != 'image'):
            values = np.array([result[name] for result in results])
            missing = np.isnan(values)
            metrics[name] = (
                math.nan if missing.all() else float(values[~missing].mean())
            )
            metrics[f'{name}_left_out'] = int(missing.sum())
        return metrics


def write_csv(path: str, rows: Sequence[dict]) -> None:
    """Write dicts with the same keys as a table, keys in the first line."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, 'w', newline='') as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@METRICS.register_module()
class GEDMetric(SampleMetric):
    """Generalized energy distance, ``GED_n``, smaller is better.

    Also ``diversity_n``, its term E d(s, s'). Where labels flip by a table
    (``class_flips`` in the image's metainfo), the distance is to all modes of
    the label, on the switchable classes. Takes the arguments of
    :class:`SampleMetric`.
    """

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        scores = {}
        for n in self.num_samples:
            terms = self._terms(data_sample, n)
            scores[f'GED_{n}'] = terms.ged.item()
            scores[f'diversity_{n}'] = terms.samples.item()
        return scores

    def _terms(self, data_sample: dict, n: int) -> EnergyTerms:
        flips = class_flips_of(data_sample)
        if flips:
            table = flip_pair_ious(
                data_sample, self.num_classes, self.ignore_index
            )
            return flip_terms_from_iou(first_samples(table, n, 2), flips)
        table = pair_ious(
            data_sample, self.num_classes, self.classes, self.ignore_index
        )
        labels = len(labels_of(data_sample))
        iou = first_samples(table, n, labels).mean(self.absent)
        return energy_terms_from_iou(iou, labels)


@METRICS.register_module()
class HMIoUMetric(SampleMetric):
    """Hungarian-matched IoU, ``HM-IoU_n``, larger is better.

    Also ``D_max_n``: the IoU of every label with its nearest sample, averaged
    over labels. Takes the arguments of :class:`SampleMetric`.
    """

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        if class_flips_of(data_sample):
            raise UserError(
                f'{image_name(data_sample)}: HM-IoU matches samples to '
                'labels that are given, but here labels flip by a table; use '
                'GEDMetric'
            )
        table = pair_ious(
            data_sample, self.num_classes, self.classes, self.ignore_index
        )
        labels = len(labels_of(data_sample))
        scores = {}
        for n in self.num_samples:
            iou = first_samples(table, n, labels).mean(self.absent)[:n, n:]
            best = best_match_from_iou(iou).nanmean()
            scores[f'HM-IoU_{n}'] = matched_iou_from_iou(iou).item()
            scores[f'D_max_{n}'] = best.item()
        return scores
