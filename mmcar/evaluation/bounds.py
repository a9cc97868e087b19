"""What simple samplers that know the labels score: bounds for a model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from mmengine.structures import BaseDataElement
from torch import Tensor

from ..structures import ClassFlips, class_flips_of, label_distribution
from ..utils.errors import UserError
from ..utils.ids import has_id
from .metrics import GEDMetric, HMIoUMetric
from .metrics.conventions import class_ids
from .metrics.fields import labels_of


class Truth(NamedTuple):
    """What is known of an image's labels.

    Attributes:
        probs: True class probabilities of the pixels, (K, H, W).
        labels: Shape (A, H, W), ids all valid.
        flips: Entries (class, twin, probability); may be empty.
    """

    probs: Tensor
    labels: Tensor
    flips: ClassFlips


Sampler = Callable[[Truth, int, torch.Generator], Tensor]


def perfect_sampler(
    truth: Truth, number: int, generator: torch.Generator
) -> Tensor:
    """Independent draws of a label, flips included.

    Args:
        truth: What the sampler may know.
        number: How many samples S to draw.
        generator: Source of randomness.

    Returns:
        Shape (S, H, W).
    """
    pick = torch.randint(len(truth.labels), (number,), generator=generator)
    drawn = truth.labels[pick]
    base = drawn.clone()
    for c, twin, p in truth.flips:
        turns = torch.rand(number, 1, 1, generator=generator) < p
        drawn[turns & (base == c)] = twin
    return drawn


def argmax_of_mean(
    truth: Truth, number: int, generator: torch.Generator
) -> Tensor:
    """The most probable class of every pixel, in every sample."""
    return truth.probs.argmax(0).expand(number, -1, -1)


def _inverse_cdf(probs: Tensor, u: Tensor) -> Tensor:
    """Class whose share of [0, 1) holds u: (K, H, W), (S, ...) -> maps."""
    edges = probs.cumsum(0)[:-1]
    return torch.stack([(edges <= x).sum(0) for x in u])


def random_threshold(
    truth: Truth, number: int, generator: torch.Generator
) -> Tensor:
    """Cut the label mean at one random level per sample, for all pixels."""
    u = torch.rand(number, 1, 1, generator=generator)
    return _inverse_cdf(truth.probs, u)


def shared_gumbel(
    truth: Truth, number: int, generator: torch.Generator
) -> Tensor:
    """Gumbel-max draws with one noise value per class and sample."""
    u = torch.rand(number, len(truth.probs), 1, 1, generator=generator)
    log_probs = truth.probs.log()
    noise = -(-u.clamp_min(1e-30).log()).log()
    return torch.stack([(log_probs + g).argmax(0) for g in noise])


def independent_pixels(
    truth: Truth, number: int, generator: torch.Generator
) -> Tensor:
    """Right at every pixel, but pixels know nothing of each other."""
    u = torch.rand(number, *truth.probs.shape[1:], generator=generator)
    return _inverse_cdf(truth.probs, u)


SAMPLERS: dict[str, Sampler] = {
    'perfect sampler': perfect_sampler,
    'shared Gumbel noise': shared_gumbel,
    'random threshold of the mean': random_threshold,
    'argmax of the mean': argmax_of_mean,
    'independent pixels': independent_pixels,
}


class ReferenceSamplers:
    """Scores of samplers that know the labels, by the metrics' conventions.

    Args:
        num_classes: Number of classes K.
        num_samples: Sample count, or several.
        classes: As in :class:`SampleMetric`.
        absent: As in :class:`SampleMetric`.
        ignore_index: Id of unlabelled pixels.
        class_names: Names of the K classes, if ``classes`` has names.
        seed: Of all draws.
    """

    def __init__(
        self,
        num_classes: int,
        num_samples: int | Sequence[int] = 16,
        classes: Sequence[int | str] | None = None,
        absent: str | None = None,
        ignore_index: int = 255,
        class_names: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        options: dict[str, Any] = {
            'num_samples': num_samples,
            'num_classes': num_classes,
            'classes': class_ids(classes, class_names, num_classes),
            'absent': absent,
            'ignore_index': ignore_index,
        }
        self.num_classes = num_classes
        self.ignore_index = ignore_index
        self.metrics = {
            name: (GEDMetric(**options), HMIoUMetric(**options))
            for name in SAMPLERS
        }
        self.generator = torch.Generator().manual_seed(seed)

    def add(self, data_sample: BaseDataElement | Mapping) -> None:
        """Let every sampler draw for one image.

        Args:
            data_sample: With ``gt_sem_segs`` (A, H, W) and maybe
                ``class_flips``; predictions are not needed.
        """
        image = _without_prediction(data_sample)
        flips = image['class_flips']
        probs, _ = label_distribution(
            image, self.num_classes, self.ignore_index
        )
        labels = _drawable(labels_of(image), probs, self.ignore_index)
        truth = Truth(probs, labels, flips)
        for name, sampler in SAMPLERS.items():
            ged, hm_iou = self.metrics[name]
            most = max(ged.num_samples)
            maps = sampler(truth, most, self.generator)
            sampled = [image | {'pred_samples': {'data': maps}}]
            ged.process({}, sampled)
            if not flips:
                hm_iou.process({}, sampled)

    def scores(self) -> dict[str, dict[str, float]]:
        """Means over the images.

        Returns:
            ``{sampler: {score: value}}``; HM-IoU where labels do not flip.
        """
        if not self.metrics['perfect sampler'][0].results:
            raise UserError('data_samples: expected at least one image')
        return {
            name: {
                key: value
                for metric in pair
                if metric.results
                for key, value in metric.compute_metrics(
                    metric.results
                ).items()
            }
            for name, pair in self.metrics.items()
        }


def reference_scores(
    data_samples: Iterable[BaseDataElement | Mapping],
    **options: Any,
) -> dict[str, dict[str, float]]:
    """Scores of samplers that know the labels, on a whole data set.

    Args:
        data_samples: One per image, see :meth:`ReferenceSamplers.add`. Read
            once.
        options: Arguments of :class:`ReferenceSamplers`.

    Returns:
        See :meth:`ReferenceSamplers.scores`.
    """
    samplers = ReferenceSamplers(**options)
    for data_sample in data_samples:
        samplers.add(data_sample)
    return samplers.scores()


def _without_prediction(data_sample: BaseDataElement | Mapping) -> dict:
    """What the labels of an image say, without any prediction."""
    if isinstance(data_sample, BaseDataElement):
        data_sample = data_sample.to_dict()
    named = {
        key: data_sample[key]
        for key in ('sample_key', 'img_path')
        if key in data_sample
    }
    return {
        **named,
        'gt_sem_segs': {'data': labels_of(dict(data_sample)).cpu()},
        'class_flips': class_flips_of(data_sample),
    }


def _drawable(labels: Tensor, probs: Tensor, ignore_index: int) -> Tensor:
    """Labels as samples: (A, H, W) -> (A', H, W) without ignored pixels.

    These take the likeliest class. Annotators who labelled nothing are left
    out, unless all are; then the image has no score anyway.
    """
    ignored = has_id(labels, ignore_index)
    labelled = ~ignored.flatten(1).all(1)
    filled = torch.where(ignored, probs.argmax(0), labels.long())
    return filled[labelled] if labelled.any() else filled
