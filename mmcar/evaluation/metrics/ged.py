"""Generalized energy distance as a metric."""

from mmseg.registry import METRICS

from ...structures import class_flips_of
from ...utils.errors import UserError
from ..functional.class_flips import flip_energy_terms
from ..functional.ged import EnergyTerms, energy_distance_terms
from .base import SampleMetric
from .fields import (
    base_label_of,
    image_name,
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
        samples, how = samples_of(data_sample, number), self.conventions
        weights = weights_of(data_sample, number)
        flips = class_flips_of(data_sample)
        if not flips:
            return energy_distance_terms(
                samples,
                labels_of(data_sample),
                absent=how.absent,
                sample_weights=weights,
                num_classes=how.num_classes,
                classes=how.classes,
                ignore_index=how.ignore_index,
            )
        if how.given_classes is not None or how.given_absent == 'one':
            raise UserError(
                f'{image_name(data_sample)}: classes={how.given_classes}, '
                f'absent={how.given_absent!r}: where classes flip by a table, '
                'the distance is over the classes of the table that are '
                "present; delete 'classes' and 'absent' of the metric"
            )
        label = base_label_of(data_sample)
        return flip_energy_terms(
            samples,
            label,
            flips,
            how.num_classes,
            how.ignore_index,
            weights,
        )

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        scores = {}
        for n in self.num_samples:
            terms = self.terms(data_sample, n)
            scores[f'GED_{n}'] = terms.ged.item()
            scores[f'diversity_{n}'] = terms.samples.item()
        return scores
