"""Metrics of samples and labels: GED, HM-IoU, CRPS, rate of floods."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from mmengine.logging import print_log
from mmseg.registry import DATASETS, METRICS
from torch import Tensor

from ...structures import ClassFlips, class_flips_of
from ...structures.labels import floods, max_class_area
from ...utils.errors import UserError
from ..functional import EnergyTerms, ged_terms
from ..functional.distances import matching_scores
from ..functional.promises import area_crps
from .base import (
    SampleMetric,
    base_label_of,
    drawn_labels_of,
    labels_of,
    samples_of,
    weights_of,
)


@METRICS.register_module()
class GEDMetric(SampleMetric):
    """Generalized energy distance, ``GED_n``, smaller is better.

    Also ``diversity_n``, its term E d(s, s'). Where labels flip by a table
    (``class_flips`` in the image's metainfo), the distance is to all modes of
    the label, on the switchable classes. Takes the arguments of
    :class:`SampleMetric`.
    """

    title = 'GED'

    def terms(self, data_sample: dict, number: int) -> EnergyTerms:
        """Terms of the distance for the first samples of an image."""
        flips, labels = class_flips_of(data_sample), labels_of(data_sample)
        return ged_terms(
            samples_of(data_sample, number),
            base_label_of(data_sample)[None] if flips else labels,
            sample_weights=weights_of(data_sample, number),
            flips=flips,
            **vars(self.how),
        )

    def score_first(self, data_sample: dict, number: int) -> dict[str, float]:
        """Scores of the first samples of an image."""
        terms = self.terms(data_sample, number)
        return dict(GED=terms.ged.item(), diversity=terms.samples.item())


@METRICS.register_module()
class HMIoUMetric(SampleMetric):
    """Hungarian-matched IoU, ``HM-IoU_n``, larger is better.

    Also ``D_max_n``: the IoU of every label with its nearest sample, averaged
    over labels. Takes the arguments of :class:`SampleMetric`.
    """

    title = 'HM-IoU'

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        return matching_scores(
            samples_of(data_sample, max(self.num_samples)),
            drawn_labels_of(data_sample, self.title),
            self.num_samples,
            self.how,
            data_sample.get('sample_weights'),
        )


@METRICS.register_module()
class CRPSMetric(SampleMetric):
    """Continuous ranked probability score of areas, ``CRPS_n``, in pixels.

    Smaller is better. Mean over the classes that are scored. Takes the
    arguments of :class:`SampleMetric`.
    """

    title = 'CRPS'

    def score_first(self, data_sample: dict, number: int) -> dict[str, float]:
        """Scores of the first samples of an image."""
        maps = samples_of(data_sample, number)
        labels = drawn_labels_of(data_sample, self.title)
        weights = weights_of(data_sample, number)
        found = [
            area_crps(maps, labels, k, self.ignore_index, weights)
            for k in self.how.ids
        ]
        return dict(CRPS=sum(found) / len(found))


SHOWN = 1e6  # parts of an image in which largest shares are printed


@METRICS.register_module()
class FloodMetric(SampleMetric):
    """Share of samples in which a class is larger than anybody drew it.

    ``flood_rate_n``, smaller is better. A class floods a sample where it
    covers a larger share of the image than in any annotation of the training
    set. Two classes are background and foreground, of which the second
    counts.

    Args:
        train_dataset: Config of the training set, with the pipeline of the
            test images; all its labels are read once, at the first image.
        largest: The largest share of each class in it, if it is known.
        kwargs: Arguments of :class:`SampleMetric`.
    """

    title = 'flood_rate'

    def __init__(
        self,
        train_dataset: dict | None = None,
        largest: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if (train_dataset is None) == (largest is None):
            raise UserError(
                'FloodMetric: expected either train_dataset or largest, the '
                'largest share of each class in its annotations'
            )
        self._train_dataset = train_dataset
        self._given = largest

    @cached_property
    def largest(self) -> Tensor:
        """The largest share (K,) of each class in the training set."""
        number = self.how.num_classes
        if self._given is not None:
            if len(self._given) != number:
                raise UserError(
                    f'FloodMetric: largest={list(self._given)} for {number} '
                    'classes; expected one share each'
                )
            return torch.tensor(self._given).double()
        dataset = DATASETS.build(self._train_dataset)
        print_log(
            f'flood_rate: reading {len(dataset)} annotated training images.',
            logger='current',
        )
        table = (dataset.metainfo or {}).get('class_flips')
        annotations = (
            labels_of(dataset[i]['data_samples'].to_dict())
            for i in range(len(dataset))
        )
        flips = ClassFlips.parse(table, number)
        largest = max_class_area(annotations, number, flips)
        # Rounded down: what covers more than the largest is not let through.
        shares = (largest * SHOWN).floor() / SHOWN
        shown = ', '.join(f'{share:g}' for share in shares.tolist())
        print_log(
            f'flood_rate: largest shares of classes in them: {shown}. As '
            'test_cfg.max_class_area they keep samples from flooding.',
            logger='current',
        )
        return largest

    def score_first(self, data_sample: dict, number: int) -> dict[str, float]:
        """Flood rate of the first samples of an image."""
        samples = samples_of(data_sample, number)
        flooded = floods(samples, self.largest, self.how.ids)
        weights = weights_of(data_sample, number).to(flooded.device).double()
        rate = (weights * flooded).sum() / weights.sum()
        return dict(flood_rate=rate.item())
