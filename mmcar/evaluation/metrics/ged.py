"""Generalized energy distance as a metric."""

from mmseg.registry import METRICS

from ...structures import class_flips_of
from ..functional import EnergyTerms, ged_terms
from .base import SampleMetric
from .fields import base_label_of, labels_of, samples_of, weights_of


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
        flips = class_flips_of(data_sample)
        return ged_terms(
            samples_of(data_sample, number),
            base_label_of(data_sample)[None]
            if flips
            else labels_of(data_sample),
            sample_weights=weights_of(data_sample, number),
            flips=flips,
            **vars(self.how),
        )

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        scores = {}
        for n in self.num_samples:
            terms = self.terms(data_sample, n)
            scores[f'GED_{n}'] = terms.ged.item()
            scores[f'diversity_{n}'] = terms.samples.item()
        return scores
