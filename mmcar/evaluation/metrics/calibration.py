"""Calibration of the predicted probabilities as a metric of MMEngine."""

import math

import torch
from mmseg.registry import METRICS
from torch import Tensor
from torch.nn.functional import one_hot

from ...sampling.kernels import gains_by_tiles, row_blocks
from ...structures import ClassFlips, class_flips_of
from ...utils.errors import UserError
from ..functional import (
    CalibrationBins,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)
from .base import ImageMetric
from .class_flips import common_table
from .fields import (
    base_label_of,
    count_unlabelled,
    image_name,
    labels_of,
    samples_of,
    weights_of,
)


def _sample_mean(data_sample: dict, num_classes: int) -> Tensor | None:
    """Mean of the samples' probabilities (K, H, W), or of their maps."""
    if 'sample_probs' in data_sample:
        return data_sample['sample_probs']['data']
    if 'pred_samples' not in data_sample:
        return None
    samples = samples_of(data_sample)
    weights = weights_of(data_sample, len(samples))
    if weights is None:
        weights = torch.ones(len(samples))
    shape = (num_classes, *samples.shape[1:])
    total = torch.zeros(shape, device=samples.device)
    for sample, weight in zip(samples, weights.tolist(), strict=True):
        total += weight * one_hot(sample.long(), num_classes).permute(2, 0, 1)
    return total / weights.sum().item()


def _agreement(data_sample: dict, label: Tensor) -> Tensor | None:
    """Where the black box decides as the label does; None without one."""
    if 'black_box_probs' not in data_sample:
        return None
    return data_sample['black_box_probs']['data'].argmax(0) == label


@METRICS.register_module()
class CalibrationMetric(ImageMetric):
    """ECE, MCE, Brier score and NLL over all pixels of the data set.

    ``ECE``, ``MCE``, ``Brier`` and ``NLL`` are of the probabilities in
    ``seg_logits``; with ``_samples`` at the end, of the sample mean. Every
    annotator's label is one observation of each of its pixels. Where labels
    flip by a table, both labels of a pixel are observations, weighted with
    their probabilities, and ``offset/<class>`` is the ``|true - predicted|``
    probability of each added class (``offset_samples/<class>`` likewise).
    Images and annotators' labels without a labelled pixel are counted, as
    ``calibration_left_out`` and ``calibration_labels_left_out``.

    Args:
        num_bins: Number of confidence bins.
        ignore_index: Id of unlabelled pixels.
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

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

    def measure(self, data_sample: dict) -> dict:
        """Reduce an image to sums."""
        logits = data_sample['seg_logits']['data']
        labels, weights = labels_of(data_sample), None
        flips = class_flips_of(data_sample)
        mask = None
        if flips:
            flips = ClassFlips.parse(flips, len(logits))
            base = base_label_of(data_sample).to(logits.device)
            labels, weights = flip_observations(base, flips)
            mask = _agreement(data_sample, base)
        probs = {'': logits}
        mean = _sample_mean(data_sample, len(logits))
        if mean is not None:
            if mean.shape != logits.shape:
                raise UserError(
                    f'{image_name(data_sample)}: sample_probs '
                    f'{tuple(mean.shape)}, but seg_logits '
                    f'{tuple(logits.shape)}; expected one shape'
                )
            probs['_samples'] = mean
        unlabelled = count_unlabelled(data_sample, self.ignore_index)
        result = {'flips': flips, 'labels_left_out': unlabelled}
        result |= self._sums(probs, labels, weights)
        for source, p in probs.items() if flips else ():
            result[f'offsets{source}'] = flip_probability_sums(
                p if source else p.softmax(0),
                base,
                flips=flips,
                mask=None if source else mask,
                ignore_index=self.ignore_index,
            ).cpu()
        return result

    def _sums(
        self,
        sources: dict[str, Tensor],
        labels: Tensor,
        weights: Tensor | None,
    ) -> dict[str, Tensor]:
        """What is added up of F's logits and the sample mean (K, H, W).

        Rows that fit the cache together take half the time of the whole.
        """
        bins = {
            source: CalibrationBins(self.num_bins, self.ignore_index)
            for source in sources
        }
        logits = sources['']
        size = logits.shape[1], logits.shape[2]
        tiled = gains_by_tiles(logits.device)
        blocks = row_blocks(size) if tiled else [slice(None)]
        for rows in blocks:
            seen = labels[..., rows, :]
            own = None if weights is None else weights[..., rows, :]
            for source, maps in sources.items():
                part = maps[:, rows]
                # a log-probability is its own logit: plain ones work too
                part = part if source else part.softmax(0)
                bins[source].update(part, seen, own)
        sums = {f'bins{source}': own.sums for source, own in bins.items()}
        return sums | {f'scores{k}': own.scores for k, own in bins.items()}

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Add up the images' sums and turn them into scores."""
        flips = common_table([result['flips'] for result in results])
        metrics: dict[str, float] = {}
        for source in ('', '_samples'):
            if f'bins{source}' not in results[0]:
                continue
            bins = CalibrationBins(self.num_bins)
            bins.sums = sum(result[f'bins{source}'] for result in results)
            bins.scores = sum(result[f'scores{source}'] for result in results)
            metrics[f'ECE{source}'] = bins.ece.item()
            metrics[f'MCE{source}'] = bins.mce.item()
            metrics[f'Brier{source}'] = bins.brier.item()
            metrics[f'NLL{source}'] = bins.nll.item()
            if flips:
                sums = sum(result[f'offsets{source}'] for result in results)
                offsets = flip_offsets(sums, flips).tolist()
                metrics |= self._name_offsets(offsets, flips, source)
        return metrics | {
            'calibration_left_out': sum(not r['scores'][0] for r in results),
            'calibration_labels_left_out': sum(
                r['labels_left_out'] for r in results
            ),
        }

    def _name_offsets(
        self, offsets: list[float], flips: ClassFlips, source: str
    ) -> dict[str, float]:
        named = {
            f'offset{source}/{self.name_of(twin)}': offset
            for (_, twin, _), offset in zip(flips, offsets, strict=True)
        }
        known = [offset for offset in offsets if not math.isnan(offset)]
        mean = sum(known) / len(known) if known else math.nan
        return named | {f'offset{source}/mean': mean}
