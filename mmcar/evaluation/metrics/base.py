"""What metrics of predicted images have in common: fields, classes, means."""

import csv
import io
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from ...structures import class_flips_of
from ...utils.errors import NonFiniteError, UserError
from ...utils.files import write_file
from ...utils.ids import has_id
from ..functional import Comparison, flip_observations
from ..functional.bounds import mean_scores

PREDICTED = ('seg_logits', 'sample_probs')


def image_name(data_sample: dict) -> str:
    """A name for messages and tables."""
    name = data_sample.get('sample_key') or data_sample.get('img_path')
    return str(name or 'image')


def labels_of(data_sample: dict) -> Tensor:
    """All labels (A, H, W) of an image; one if it has one annotator."""
    for key in ('gt_sem_segs', 'gt_sem_seg'):
        if key in data_sample:
            return data_sample[key]['data']
    raise UserError(
        f"{image_name(data_sample)}: no 'gt_sem_segs' or 'gt_sem_seg'; the "
        'pipeline has to load annotations'
    )


def drawn_labels_of(data_sample: dict, score: str) -> Tensor:
    """All labels (A, H, W) of an image; refuse those that flip by a table."""
    if class_flips_of(data_sample):
        raise UserError(
            f'{image_name(data_sample)}: {score} needs labels as they were '
            'drawn, but here they flip by a table; use GEDMetric'
        )
    return labels_of(data_sample)


def base_label_of(data_sample: dict) -> Tensor:
    """The one label (H, W) of an image, before any class flips."""
    labels = labels_of(data_sample)
    if len(labels) != 1:
        raise UserError(
            f'{image_name(data_sample)}: class flips need one base label, got '
            f'labels {tuple(labels.shape)}'
        )
    return labels[0]


def observations_of(data_sample: dict) -> tuple[Tensor, Tensor | None]:
    """Labels (A, H, W) of an image and their weights; None is 1.

    Where classes flip, both states are observations, weighted.
    """
    flips = class_flips_of(data_sample)
    if flips:
        return flip_observations(base_label_of(data_sample), flips)
    return labels_of(data_sample), None


def samples_of(data_sample: dict, number: int | None = None) -> Tensor:
    """The sampled label maps (S, H, W) of an image.

    Args:
        data_sample: The image.
        number: How many of them, the first; None is all.
    """
    if 'pred_samples' not in data_sample:
        raise UserError(
            f"{image_name(data_sample)}: no 'pred_samples'; this metric needs "
            'a model that samples, such as CARSegmentor'
        )
    samples = data_sample['pred_samples']['data']
    if number is not None and number > len(samples):
        raise UserError(
            f'num_samples={number} but the model drew {len(samples)} per '
            'image; raise num_samples in the test_cfg of the model'
        )
    return samples[:number]


def weights_of(data_sample: dict, number: int) -> Tensor:
    """What each of the first samples counts (number,).

    Support points stand for different shares of all draws.
    """
    device = samples_of(data_sample).device
    alike = torch.ones(number, device=device)
    return data_sample.get('sample_weights', alike)[:number]


def refuse_nonfinite(data_sample: dict) -> None:
    """Refuse a prediction that is NaN or infinite.

    Its label maps look like any other: ``argmax`` takes the first NaN.
    """
    for key in PREDICTED:
        values = data_sample[key]['data'] if key in data_sample else None
        # A finite sum, the cheapest look at all values, has finite terms.
        if values is None or values.sum().isfinite():
            continue
        # The logarithm of 0 is -inf; a pixel may have it for some classes.
        if not values.amax(0).isfinite().all():
            raise NonFiniteError(
                f"{image_name(data_sample)}: '{key}' holds NaN or infinite "
                'values. Look for such in the image and in the training log.'
            )


def class_number(given: int | None, names: Sequence[str] | None) -> int:
    """The number of classes, which config and data set must agree on."""
    number = len(names or ()) or given
    if number is None or given not in (None, number):
        raise UserError(
            f'num_classes={given} of the metric, {len(names or ())} of the '
            'data set: leave it out to ask the data set'
        )
    return number


def class_ids(
    classes: Sequence[int | str] | None,
    names: Sequence[str] | None,
    num_classes: int,
) -> tuple[int, ...] | None:
    """Ids of the classes that a config asks for.

    Ids say nothing about what they leave out: ``(1,)`` is the foreground of
    two classes, and one of many in a config that inherits it. So where the
    data set is known, a part of more than two classes has to be named.

    Args:
        classes: Ids or names; None stays None.
        names: The data set's classes; None if unknown.
        num_classes: Their number K.

    Raises:
        UserError: A class that is not there, or ids that leave out more than
            class 0 of three classes or more.
    """
    if classes is None:
        return None
    named = all(isinstance(c, str) for c in classes)
    unknown = {c for c in classes if isinstance(c, str)} - {*(names or ())}
    if unknown:
        raise UserError(
            f'classes: {sorted(unknown)} are none of those of the data set, '
            f'{", ".join(names or ()) or "which are unknown; use ids"}'
        )
    number = {name: i for i, name in enumerate(names or ())}
    ids = [number[c] if isinstance(c, str) else c for c in classes]
    Comparison(num_classes, ids)  # refuses ids that are not there
    left_out = sorted(set(range(1, num_classes)) - set(ids))
    if names and num_classes > 2 and left_out and not named:
        raise UserError(
            f'classes={tuple(classes)}: leaves out '
            f"{', '.join(names[i] for i in left_out)}. Delete 'classes' to "
            f'score all, or name them: classes={[names[i] for i in ids]}'
        )
    return tuple(ids)


class ImageMetric(BaseMetric):
    """Exactly one result per image, none of a prediction that is not finite.

    Takes the arguments of MMEngine's ``BaseMetric``.
    """

    default_prefix = ''  # None would make MMEngine warn
    ignore_index = 255

    @abstractmethod
    def measure(self, data_sample: dict) -> Any:
        """What :meth:`compute_metrics` needs of one image."""

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Measure every image; exactly one result each."""
        for data_sample in data_samples:
            refuse_nonfinite(data_sample)
            self.results.append(self.measure(data_sample))

    def unlabelled(self, data_sample: dict) -> int:
        """How many labels of an image have no labelled pixel."""
        ignored = has_id(labels_of(data_sample), self.ignore_index)
        return int(ignored.flatten(1).all(1).sum())

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

    #: Name of the metric in its counts; None is that of the class.
    title: str | None = None

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

    @BaseMetric.dataset_meta.setter
    def dataset_meta(self, dataset_meta: dict | None) -> None:
        """Set the data set's metainfo, and look whether it fits."""
        self._dataset_meta = dataset_meta
        self.__dict__.pop('how', None)
        if dataset_meta is not None:
            _ = self.how  # loops set it at once: a mistake costs no iteration

    @cached_property
    def how(self) -> Comparison:
        """How maps are compared, checked against the data set."""
        number = class_number(self._num_classes, self.class_names)
        ids = class_ids(self._classes, self.class_names, number)
        return Comparison(number, ids, self._absent, self.ignore_index)

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image, NaN where it has none."""
        return {
            f'{name}_{n}': value
            for n in self.num_samples
            for name, value in self.score_first(data_sample, n).items()
        }

    def score_first(self, data_sample: dict, number: int) -> dict[str, float]:
        """Scores of the first samples of an image; `score` joins them."""
        raise NotImplementedError

    def measure(self, data_sample: dict) -> dict:
        """Scores of one image, its name, and labels that are no labels."""
        return {
            'image': image_name(data_sample),
            **self.score(data_sample),
            'labels_left_out': self.unlabelled(data_sample),
        }

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Average over the images that have a score; count the others."""
        if self.csv_file is not None:
            write_csv(self.csv_file, results)
        means = mean_scores(results)
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
