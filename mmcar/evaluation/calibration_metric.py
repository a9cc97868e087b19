"""Calibration of the predicted probabilities as a metric of MMEngine."""

import math
from collections.abc import Sequence

import torch
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS
from torch import Tensor
from torch.nn.functional import one_hot

from ..structures import ClassFlips, class_flips_of
from ..utils.errors import UserError
from .functional.calibration import CalibrationBins, score_sums
from .functional.offsets import (
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)
from .pairs import image_name, labels_of, samples_of


def _sample_mean(data_sample: dict, num_classes: int) -> Tensor | None:
    """Mean of the samples' probabilities (K, H, W), or of their maps."""
    if 'sample_probs' in data_sample:
        return data_sample['sample_probs']['data']
    if 'pred_samples' not in data_sample:
        return None
    total = 0
    for sample in samples_of(data_sample):  # one at a time saves memory
        total = total + one_hot(sample.long(), num_classes).permute(2, 0, 1)
    return total / len(samples_of(data_sample))


def _agreement(data_sample: dict, label: Tensor) -> Tensor | None:
    """Where the black box decides as the label does; None without one."""
    if 'black_box_probs' not in data_sample:
        return None
    return data_sample['black_box_probs']['data'].argmax(0) == label


@METRICS.register_module()
class CalibrationMetric(BaseMetric):
    """ECE, MCE, Brier score and NLL over all pixels of the data set.

    ``ECE``, ``MCE``, ``Brier`` and ``NLL`` are of the probabilities in
    ``seg_logits``; with ``_samples`` at the end, of the sample mean. Every
    annotator's label is one observation of each of its pixels. Where labels
    flip by a table, both labels of a pixel are observations, weighted with
    their probabilities, and ``offset/<class>`` is the ``|true - predicted|``
    probability of each added class (``offset_samples/<class>`` likewise).

    Args:
        num_bins: Number of confidence bins.
        ignore_index: Id of unlabelled pixels.
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

    default_prefix = ''  # None would make MMEngine warn

    def __init__(
        self,
        num_bins: int = 10,
        ignore_index: int = 255,
        collect_device: str = 'cpu',
        prefix: str | None = None,
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        self.num_bins = num_bins
        self.ignore_index = ignore_index

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Reduce every image to sums; exactly one result each."""
        self.results += [self._sums(sample) for sample in data_samples]

    def _sums(self, data_sample: dict) -> dict:
        if 'seg_logits' not in data_sample:
            raise UserError(
                f"{image_name(data_sample)}: no 'seg_logits' to take "
                'probabilities from'
            )
        logits = data_sample['seg_logits']['data']
        labels, weights = labels_of(data_sample), None
        flips = class_flips_of(data_sample)
        mask = None
        if flips:
            flips = ClassFlips.parse(flips, len(logits))
            base = labels[0].to(logits.device)
            labels, weights = flip_observations(base, flips)
            mask = _agreement(data_sample, base)
        # a log-probability is its own logit, so plain logits work as well
        probs = {'': logits.softmax(0)}
        mean = _sample_mean(data_sample, len(logits))
        if mean is not None:
            probs['_samples'] = mean
        result = {'flips': flips}
        for source, p in probs.items():
            bins = CalibrationBins(self.num_bins, self.ignore_index)
            bins.update(p, labels, weights)
            scores = score_sums(
                p, labels, weights=weights, ignore_index=self.ignore_index
            )
            result[f'bins{source}'] = bins.sums
            result[f'scores{source}'] = torch.stack(scores).cpu()
            if flips:
                where = None if source else mask
                result[f'offsets{source}'] = flip_probability_sums(
                    p,
                    base,
                    flips=flips,
                    mask=where,
                    ignore_index=self.ignore_index,
                ).cpu()
        return result

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Add up the images' sums and turn them into scores."""
        flips = results[0]['flips']
        if any(result['flips'] != flips for result in results):
            raise UserError('images with different flip tables in one set')
        metrics = {}
        for source in ('', '_samples'):
            if f'bins{source}' not in results[0]:
                continue
            bins = CalibrationBins(self.num_bins)
            bins.sums = sum(result[f'bins{source}'] for result in results)
            count, brier, nll = sum(r[f'scores{source}'] for r in results)
            metrics[f'ECE{source}'] = bins.ece.item()
            metrics[f'MCE{source}'] = bins.mce.item()
            metrics[f'Brier{source}'] = (brier / count).item()
            metrics[f'NLL{source}'] = (nll / count).item()
            if flips:
                sums = sum(result[f'offsets{source}'] for result in results)
                offsets = flip_offsets(sums, flips).tolist()
                metrics |= self._name_offsets(offsets, flips, source)
        return metrics

    def _name_offsets(
        self, offsets: list[float], flips: ClassFlips, source: str
    ) -> dict[str, float]:
        names = (self.dataset_meta or {}).get('classes')
        named = {
            f'offset{source}/{names[twin] if names else twin}': offset
            for (_, twin, _), offset in zip(flips, offsets, strict=True)
        }
        known = [offset for offset in offsets if not math.isnan(offset)]
        mean = sum(known) / len(known) if known else math.nan
        return named | {f'offset{source}/mean': mean}
