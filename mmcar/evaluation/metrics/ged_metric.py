"""Generalized energy distance as a metric."""

from mmseg.registry import METRICS

from .pairs import energy_terms
from .sample_metric import SampleMetric


@METRICS.register_module()
class GEDMetric(SampleMetric):
    """Generalized energy distance, ``GED_n``, smaller is better.

    Also ``diversity_n``, its term E d(s, s'). Where labels flip by a table
    (``class_flips`` in the image's metainfo), the distance is to all modes of
    the label, on the switchable classes. Takes the arguments of
    :class:`SampleMetric`.
    """

    title = 'GED'

    def score(self, data_sample: dict) -> dict[str, float]:
        """Scores of one image for every sample count."""
        scores = {}
        for n in self.num_samples:
            terms = energy_terms(data_sample, n, self.conventions)
            scores[f'GED_{n}'] = terms.ged.item()
            scores[f'diversity_{n}'] = terms.samples.item()
        return scores
