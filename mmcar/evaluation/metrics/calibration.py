"""Calibration of probabilities, and of whole classes that flip."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import METRICS
from torch import Tensor
from torch.nn.functional import one_hot

from ...sampling.kernels import gains_by_tiles, row_blocks
from ...structures import ClassFlips, class_flips_of
from ...utils.errors import UserError
from ...utils.ids import has_id
from ..functional import CalibrationBins, flip_offsets, flip_probability_sums
from .base import (
    ImageMetric,
    base_label_of,
    image_name,
    observations_of,
    samples_of,
    weights_of,
)


def common_table(tables: Sequence[ClassFlips]) -> ClassFlips:
    """The one table of a data set's images."""
    if any(table != tables[0] for table in tables):
        raise UserError(
            'images with different tables of class flips in one data set: '
            'expected the same for all'
        )
    return tables[0]


def flip_states(
    samples: Tensor, label: Tensor, flips: ClassFlips
) -> tuple[Tensor, Tensor]:
    """Which state each switchable class of each sample is in, and how purely.

    Only pixels count that the label gives to the class and the sample to the
    class or its twin.

    Args:
        samples: Label maps (S, H, W).
        label: Label before any flip (H, W).
        flips: n rows (class id, twin id, probability).

    Returns:
        States (S, n): 1 where most pixels are the twin's, 0 where not, and
        coherence (S, n): the share of pixels in that state. Both are NaN
        where there is no such pixel.
    """
    states, coherence = [], []
    for source, twin, _ in flips:
        inside = samples[:, has_id(label, source)]  # (S, P)
        twins = has_id(inside, twin).sum(1).double()
        total = twins + has_id(inside, source).sum(1)
        share = twins / total  # 0 / 0 is the NaN that marks absence
        states.append(
            torch.where(share.isnan(), share, (share > 0.5).double())
        )
        coherence.append(torch.maximum(share, 1 - share))
    return torch.stack(states, 1), torch.stack(coherence, 1)


@METRICS.register_module()
class FlipMetric(ImageMetric):
    """Frequency, coherence and correlation of class flips in the samples.

    - ``flip_frequency/<class>``: how often the class turned into its twin;
    - ``flip_error``: largest distance of those from the flip table;
    - ``flip_coherence``: mean share of a class's pixels in one state;
    - ``flip_correlation``: largest absolute correlation between the states
      of two classes, over the samples in which both occur;
    - ``flip_left_out``: images in which no class of the table occurs.

    Takes the arguments of :class:`ImageMetric`.
    """

    def measure(
        self, data_sample: dict
    ) -> tuple[ClassFlips, Tensor, Tensor, Tensor]:
        """States and coherence of one image, and what each sample counts."""
        flips = class_flips_of(data_sample)
        if not flips:
            raise UserError(
                f'{image_name(data_sample)}: FlipMetric needs a data set '
                "with 'class_flips' in its metainfo"
            )
        states, coherence = flip_states(
            samples_of(data_sample), base_label_of(data_sample), flips
        )
        weights = weights_of(data_sample, len(states)).double()
        weights = weights / weights.mean()
        return flips, states.cpu(), coherence.cpu(), weights.cpu()

    def compute_metrics(self, results: list[tuple]) -> dict[str, float]:
        """Put the images together."""
        flips = common_table([table for table, *_ in results])
        states, coherence, weights = (
            torch.cat([result[i] for result in results]) for i in (1, 2, 3)
        )
        frequency = _mean(states, weights)
        expected = frequency.new_tensor([p for _, _, p in flips])
        metrics = {
            f'flip_frequency/{self.name_of(source)}': value.item()
            for (source, _, _), value in zip(flips, frequency, strict=True)
        }
        errors = (frequency - expected).abs().tolist()
        known = [error for error in errors if not math.isnan(error)]
        metrics['flip_error'] = max(known, default=math.nan)
        each = weights[:, None].expand_as(coherence).flatten()
        metrics['flip_coherence'] = _mean(coherence.flatten(), each).item()
        metrics['flip_correlation'] = max(
            (
                _correlation(states[:, [i, j]], weights)
                for i in range(len(flips))
                for j in range(i)
            ),
            default=0.0,
        )
        metrics['flip_left_out'] = sum(
            bool(states.isnan().all()) for _, states, *_ in results
        )
        return metrics


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean over the first dimension, without NaN."""
    weights = weights.view(-1, *[1] * (values.dim() - 1))
    known = weights * ~values.isnan()
    return (known * values.nan_to_num()).sum(0) / known.sum(0)


def _correlation(pair: Tensor, weights: Tensor) -> float:
    """Absolute correlation of two columns; 0 if one never changes."""
    both = ~pair.isnan().any(1) & (weights > 0)
    pair = pair[both]
    if len(pair) < 2 or (pair.std(0) == 0).any():
        return 0.0
    covariance = torch.cov(pair.T, correction=0, aweights=weights[both])
    deviations = covariance.diagonal().sqrt()
    return (covariance[0, 1] / deviations.prod()).abs().item()


def _sample_mean(data_sample: dict, num_classes: int) -> Tensor | None:
    """Mean of the samples' probabilities (K, H, W), or of their maps."""
    if 'sample_probs' in data_sample:
        return data_sample['sample_probs']['data']
    if 'pred_samples' not in data_sample:
        return None
    samples = samples_of(data_sample)
    weights = weights_of(data_sample, len(samples))
    shape = (num_classes, *samples.shape[1:])
    total = torch.zeros(shape, device=samples.device)
    for sample, weight in zip(samples, weights.tolist(), strict=True):
        total += weight * one_hot(sample.long(), num_classes).permute(2, 0, 1)
    return total / weights.sum().item()


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
        kwargs: Arguments of :class:`ImageMetric`.
    """

    def __init__(
        self, num_bins: int = 10, ignore_index: int = 255, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.num_bins = num_bins
        self.ignore_index = ignore_index

    def measure(self, data_sample: dict) -> dict:
        """Reduce an image to sums."""
        logits = data_sample['seg_logits']['data']
        flips = ClassFlips.parse(class_flips_of(data_sample), len(logits))
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
        left_out = self.unlabelled(data_sample)
        result = dict[str, Any](flips=flips, labels_left_out=left_out)
        result |= self._sums(probs, *observations_of(data_sample))
        if flips:
            base = base_label_of(data_sample).to(logits.device)
            mask = None  # where the black box decides as the label does
            if 'black_box_probs' in data_sample:
                seen = data_sample['black_box_probs']['data']
                mask = seen.argmax(0) == base
            for source, p in probs.items():
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
        for rows in row_blocks(size) if tiled else [slice(None)]:
            seen = labels[..., rows, :]
            own = None if weights is None else weights[..., rows, :]
            for source, maps in sources.items():
                part = maps[:, rows]
                # a log-probability is its own logit: plain ones work too
                part = part if source else part.softmax(0)
                bins[source].update(part, seen, own)
        sums = {f'bins{source}': own.sums for source, own in bins.items()}
        return sums | {f'scores{k}': own.scores for k, own in bins.items()}

    def bins_of(
        self, results: Sequence[dict], source: str = ''
    ) -> CalibrationBins:
        """What measured images come to together.

        Args:
            results: Of :meth:`measure`.
            source: '' for F's probabilities, '_samples' for the sample mean.
        """
        bins = CalibrationBins(self.num_bins, self.ignore_index)
        bins.sums = sum(result[f'bins{source}'] for result in results)
        bins.scores = sum(result[f'scores{source}'] for result in results)
        return bins

    def compute_metrics(self, results: list[dict]) -> dict[str, float]:
        """Add up the images' sums and turn them into scores."""
        flips = common_table([result['flips'] for result in results])
        metrics: dict[str, float] = {}
        for source in ('', '_samples'):
            if f'bins{source}' not in results[0]:
                continue
            bins = self.bins_of(results, source)
            for name, score in bins.figures().items():
                metrics[f'{name}{source}'] = score.item()
            if flips:
                sums = sum(result[f'offsets{source}'] for result in results)
                offsets = flip_offsets(sums, flips)
                name = f'offset{source}'
                for (_, twin, _), value in zip(flips, offsets, strict=True):
                    metrics[f'{name}/{self.name_of(twin)}'] = value.item()
                metrics[f'{name}/mean'] = offsets.nanmean().item()
        return metrics | {
            'calibration_left_out': sum(not r['scores'][0] for r in results),
            'calibration_labels_left_out': sum(
                r['labels_left_out'] for r in results
            ),
        }
