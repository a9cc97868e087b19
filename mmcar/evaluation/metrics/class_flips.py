"""Do whole classes flip, as often as they should, and independently?"""

import math
from collections.abc import Sequence

import torch
from mmseg.registry import METRICS
from torch import Tensor

from ...structures import ClassFlips, class_flips_of
from ...utils.errors import UserError
from ...utils.ids import has_id
from .base import ImageMetric
from .fields import base_label_of, image_name, samples_of, weights_of


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
        weights = weights_of(data_sample, len(states))
        if weights is None:
            weights = torch.ones(len(states))
        weights = weights.double() / weights.mean()
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
        errors = (frequency - expected).abs()
        errors = errors[~errors.isnan()]
        metrics['flip_error'] = (
            errors.max().item() if len(errors) else math.nan
        )
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
