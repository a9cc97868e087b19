"""Do whole classes flip, as often as they should, and independently?"""

from collections.abc import Sequence

import torch
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS
from torch import Tensor

from ..structures import ClassFlips, class_flips_of
from ..utils.errors import UserError
from .pairs import image_name, labels_of, samples_of


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
        inside = samples[:, label == source]  # (S, P)
        twins = (inside == twin).sum(1).double()
        total = twins + (inside == source).sum(1)
        share = twins / total  # 0 / 0 is the NaN that marks absence
        states.append(
            torch.where(share.isnan(), share, (share > 0.5).double())
        )
        coherence.append(torch.maximum(share, 1 - share))
    return torch.stack(states, 1), torch.stack(coherence, 1)


@METRICS.register_module()
class FlipMetric(BaseMetric):
    """Frequency, coherence and correlation of class flips in the samples.

    - ``flip_frequency/<class>``: how often the class turned into its twin;
    - ``flip_error``: largest distance of those from the flip table;
    - ``flip_coherence``: mean share of a class's pixels in one state;
    - ``flip_correlation``: largest absolute correlation between the states
      of two classes, over the samples in which both occur.

    Args:
        collect_device: 'cpu' or 'gpu', for gathering across processes.
        prefix: Put before the names of the scores.
    """

    default_prefix = ''  # None would make MMEngine warn

    def __init__(
        self, collect_device: str = 'cpu', prefix: str | None = None
    ) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Note states and coherence of every image."""
        for data_sample in data_samples:
            flips = class_flips_of(data_sample)
            if not flips:
                raise UserError(
                    f'{image_name(data_sample)}: FlipMetric needs a data set '
                    "with 'class_flips' in its metainfo"
                )
            states = flip_states(
                samples_of(data_sample), labels_of(data_sample)[0], flips
            )
            self.results.append((flips, *(s.cpu() for s in states)))

    def compute_metrics(self, results: list[tuple]) -> dict[str, float]:
        """Put the images together."""
        flips = results[0][0]
        states = torch.cat([states for _, states, _ in results])
        coherence = torch.cat([coherence for _, _, coherence in results])
        frequency = states.nanmean(0)
        expected = frequency.new_tensor([p for _, _, p in flips])
        classes = self.dataset_meta['classes']
        metrics = {
            f'flip_frequency/{classes[source]}': value.item()
            for (source, _, _), value in zip(flips, frequency, strict=True)
        }
        seen = ~frequency.isnan()
        metrics['flip_error'] = (frequency - expected)[seen].abs().max().item()
        metrics['flip_coherence'] = coherence.nanmean().item()
        metrics['flip_correlation'] = max(
            (
                _correlation(states[:, i], states[:, j])
                for i in range(len(flips))
                for j in range(i)
            ),
            default=0.0,
        )
        return metrics


def _correlation(a: Tensor, b: Tensor) -> float:
    """Absolute correlation where both are known; 0 if one never changes."""
    both = ~(a.isnan() | b.isnan())
    pair = torch.stack([a[both], b[both]])
    if pair.shape[1] < 2 or (pair.std(1) == 0).any():
        return 0.0
    return torch.corrcoef(pair)[0, 1].abs().item()
