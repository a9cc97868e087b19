"""Likelihood of the labels under the samples' own frequencies."""

from mmseg.registry import METRICS

from mmcar.evaluation import CalibrationMetric
from mmcar.sampling.kernels import class_counts


@METRICS.register_module()
class SmoothedNLL(CalibrationMetric):
    """NLL of (n_k + 1 / K) / (S + 1), n_k of S samples having class k.

    It means the same for every sampler, whatever probabilities it reports;
    one sample, spread evenly over the classes, keeps it finite.
    """

    def measure(self, data_sample: dict) -> dict:
        """Reduce an image to sums."""
        maps = data_sample['pred_samples']['data']
        number = len(data_sample['seg_logits']['data'])
        counts = class_counts(maps, number)
        smoothed = (counts + 1 / number) / (len(maps) + 1)
        return super().measure(
            dict(data_sample, sample_probs=dict(data=smoothed))
        )

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Keep the one score."""
        scores = super().compute_metrics(results)
        return dict(NLL_smoothed=scores['NLL_samples'])
