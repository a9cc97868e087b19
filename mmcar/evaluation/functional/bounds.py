"""What simple samplers that know the labels score: bounds for a model."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor
from typing_extensions import Unpack

from ...sampling.kernels import label_dtype, row_blocks
from ...structures import ClassFlips, label_distribution
from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.ids import has_id
from .distances import ged_terms, matching_scores
from .inputs import Maps, as_tensor, check_maps
from .iou import Comparison, PairOptions


class Truth(NamedTuple):
    """What is known of an image's labels, and samplers that know it.

    A sampler takes the number S of samples and a source of randomness, and
    returns label maps (S, H, W).

    Attributes:
        probs: True class probabilities of the pixels, (K, H, W).
        labels: Shape (A, H, W), ids all valid.
        flips: Entries (class, twin, probability); may be empty.
    """

    probs: Tensor
    labels: Tensor
    flips: ClassFlips

    def perfect(self, number: int, generator: Generator) -> Tensor:
        """Independent draws of a label, flips included."""
        pick = torch.randint(len(self.labels), (number,), generator=generator)
        drawn = self.labels[pick]
        base = drawn.clone()
        for c, twin, p in self.flips:
            turns = torch.rand(number, 1, 1, generator=generator) < p
            drawn[turns & (base == c)] = twin
        return drawn

    def argmax_of_mean(self, number: int, _: Generator) -> Tensor:
        """The most probable class of every pixel, in every sample."""
        likeliest = self.probs.argmax(0).to(label_dtype(len(self.probs)))
        return likeliest.expand(number, -1, -1)

    def random_threshold(self, number: int, generator: Generator) -> Tensor:
        """Cut the label mean at one random level per sample, for all."""
        levels = torch.rand(number, 1, 1, generator=generator)
        return self._inverse_cdf(number, levels)

    def shared_gumbel(self, number: int, generator: Generator) -> Tensor:
        """Gumbel-max draws with one noise value per class and sample."""
        size = number, len(self.probs), 1, 1
        u = torch.rand(size, generator=generator).clamp_min(1e-30)
        maps = self._empty(number)
        for rows in row_blocks(maps.shape[1:]):
            log_probs = self.probs[:, rows].log()
            for one, noise in zip(maps, -(-u.log()).log(), strict=True):
                one[rows] = (log_probs + noise).argmax(0)
        return maps

    def independent_pixels(self, number: int, generator: Generator) -> Tensor:
        """Right at every pixel, but pixels know nothing of each other."""
        size = self.probs.shape[1:]
        levels = (torch.rand(size, generator=generator) for _ in range(number))
        return self._inverse_cdf(number, levels)

    def _inverse_cdf(self, number: int, levels: Iterable[Tensor]) -> Tensor:
        """Class whose share of [0, 1) holds a level, or one per pixel."""
        maps = self._empty(number)
        for one, level in zip(maps, levels, strict=True):
            share = torch.zeros(())
            one.zero_()
            for probs in self.probs[:-1]:
                share = share + probs
                one += share <= level
        return maps

    def _empty(self, number: int) -> Tensor:
        """Label maps (S, H, W) to be filled."""
        size = number, *self.probs.shape[1:]
        return torch.empty(size, dtype=label_dtype(len(self.probs)))


SAMPLERS: dict[str, Callable[[Truth, int, Generator], Tensor]] = {
    'perfect sampler': Truth.perfect,
    'shared Gumbel noise': Truth.shared_gumbel,
    'random threshold of the mean': Truth.random_threshold,
    'argmax of the mean': Truth.argmax_of_mean,
    'independent pixels': Truth.independent_pixels,
}


class Bounds:
    """Scores of samplers that know the labels, image by image.

    Args:
        num_samples: Sample count, or several.
        flips: Table of class flips of the data set, or its rows.
        seed: Of all draws.
        options: See :class:`Comparison`.
    """

    def __init__(
        self,
        num_samples: int | Sequence[int] = 16,
        flips: Iterable[Sequence] | None = None,
        seed: int = 0,
        **options: Unpack[PairOptions],
    ) -> None:
        counts = [num_samples] if isinstance(num_samples, int) else num_samples
        self.counts = tuple(counts)
        at_least(1, num_samples=min(self.counts, default=0))
        self.how = Comparison(**options)
        self.flips = ClassFlips.parse(flips, self.how.num_classes)
        self.generator = Generator().manual_seed(seed)
        self.rows: dict[str, list[dict[str, float]]] = {
            name: [] for name in SAMPLERS
        }

    def add(self, labels: Maps) -> None:
        """Let every sampler draw for the labels (A, H, W) of an image."""
        labels = as_tensor('labels', labels).cpu()
        known = dict(gt_sem_segs=dict(data=labels), class_flips=self.flips)
        ignored = self.how.ignore_index
        check_maps('labels', labels, self.how.num_classes, ignored)
        probs, _ = label_distribution(known, self.how.num_classes, ignored)
        truth = Truth(probs, _drawable(labels, probs, ignored), self.flips)
        unlabelled = has_id(labels, ignored).flatten(1).all(1).sum()
        how = dict(vars(self.how), flips=self.flips)
        for name, sampler in SAMPLERS.items():
            maps = sampler(truth, max(self.counts), self.generator)
            row: dict[str, float] = dict(labels_left_out=int(unlabelled))
            for n in self.counts:
                terms = ged_terms(maps[:n], labels, **how)
                row[f'GED_{n}'] = terms.ged.item()
                row[f'diversity_{n}'] = terms.samples.item()
            if not self.flips:
                row |= matching_scores(maps, labels, self.counts, self.how)
            self.rows[name].append(row)

    def scores(self) -> dict[str, dict[str, float]]:
        """Means over the images, see :func:`mean_scores`, by sampler."""
        if not self.rows['perfect sampler']:
            raise UserError('labels: expected those of at least one image')
        return {name: mean_scores(rows) for name, rows in self.rows.items()}


def bounds(
    labels: Iterable[Maps],
    *,
    num_samples: int | Sequence[int] = 16,
    flips: Iterable[Sequence] | None = None,
    seed: int = 0,
    **options: Unpack[PairOptions],
) -> dict[str, dict[str, float]]:
    """Scores of samplers that know the labels, on a whole data set.

    Args:
        labels: Label maps (N, A, H, W) or (A, H, W); or (A, H, W) of one
            image after the other, with as many annotators as it has, which
            are read once.
        num_samples: Sample count, or several.
        flips: Table of class flips, or its rows.
        seed: Of all draws.
        options: See :class:`Comparison`.

    Returns:
        ``{sampler: {score: value}}``; HM-IoU where labels do not flip.

    Example:
        >>> import mmcar, torch
        >>> labels = torch.tensor([[[[0, 0, 1, 1]], [[0, 1, 1, 1]]]])
        >>> found = mmcar.bounds(labels, num_classes=2, num_samples=64)
        >>> found['perfect sampler']['GED_64'] < 0.01
        True
        >>> round(found['argmax of the mean']['GED_64'], 3)
        0.167
    """
    samplers = Bounds(num_samples, flips, seed, **options)
    if isinstance(labels, Maps) and labels.ndim == 3:
        labels = labels[None]
    for own in labels:
        samplers.add(own)
    return samplers.scores()


def mean_scores(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Average scores of images over those that have one; count the others.

    Args:
        rows: Of each image its scores by name, NaN where it has none, maybe
            its name as ``image``, and ``labels_left_out``, its labels without
            a labelled pixel.

    Returns:
        Each score and ``<score>_left_out``, and ``labels_left_out`` in total.
    """
    means: dict[str, float] = {}
    for name in [k for k in rows[0] if k not in ('image', 'labels_left_out')]:
        values = np.array([row[name] for row in rows])
        known = values[~np.isnan(values)]
        means[name] = float(known.mean()) if len(known) else np.nan
        means[f'{name}_left_out'] = len(values) - len(known)
    left_out = sum(row['labels_left_out'] for row in rows)
    return means | {'labels_left_out': left_out}


def _drawable(labels: Tensor, probs: Tensor, ignore_index: int) -> Tensor:
    """Labels as samples: (A, H, W) -> (A', H, W) without ignored pixels.

    These take the likeliest class. Annotators who labelled nothing are left
    out, unless all are; then the image has no score anyway.
    """
    ignored = has_id(labels, ignore_index)
    labelled = ~ignored.flatten(1).all(1)
    likeliest = probs.argmax(0).to(label_dtype(len(probs)))
    filled = torch.where(ignored, likeliest, labels.to(likeliest))
    return filled[labelled] if labelled.any() else filled
