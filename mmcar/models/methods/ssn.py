"""Stochastic Segmentation Networks (Monteiro et al., NeurIPS 2020)."""

import math
from typing import Any, NamedTuple

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least
from ..segmentors.training import TrainBatch
from .base import FeatureSegmentor


class LowRankGaussian(NamedTuple):
    """A Gaussian over the logits of whole images.

    Its covariance is ``P P^T + D`` with the factor P and a diagonal D.

    Attributes:
        mean: (B, K, H, W).
        factor: (B, R, K, H, W).
        scale: Square root of the diagonal (B, K, H, W); None for none.
    """

    mean: Tensor
    factor: Tensor
    scale: Tensor | None

    def logits(self, z: Tensor) -> Tensor:
        """Logits (s, B, K, H, W) of standard normal noise (s, B, d).

        The first R numbers are the factor's, the others the diagonal's.
        """
        rank = self.factor.shape[1]
        common = torch.einsum('sbr,brkhw->sbkhw', z[..., :rank], self.factor)
        logits = self.mean + common
        if self.scale is None:
            return logits
        own = z[..., rank:].unflatten(-1, self.mean.shape[1:])
        return logits + self.scale * own


def monte_carlo_likelihood(
    logits: Tensor, labels: Tensor, ignore_index: int = 255
) -> Tensor:
    """Logarithm of the mean likelihood of label maps under drawn logits.

    Args:
        logits: Draws (s, B, K, H, W).
        labels: (B, A, H, W) integer.
        ignore_index: Pixels with this label do not count.

    Returns:
        (B, A): ``log mean_s prod_pixels softmax(logits_s)[label]``.
    """
    known = labels != ignore_index
    index = labels.where(known, 0).long().expand(len(logits), *labels.shape)
    log_probs = logits.log_softmax(2).gather(2, index)  # (s, B, A, H, W)
    likelihood = log_probs.where(known, 0.0).sum((-2, -1))
    return likelihood.logsumexp(0) - math.log(len(logits))


@MODELS.register_module()
class StochasticSegmentationNetwork(FeatureSegmentor):
    """Draws logits of the whole image from one low-rank Gaussian.

    Three 1x1 convolutions on the features of a net give the mean, the factor
    and the diagonal of the covariance. They learn by the Monte-Carlo estimate
    of the likelihood of labels.

    Args:
        num_classes: Number of classes K.
        net: See :class:`FeatureSegmentor`.
        rank: Columns of the factor, R.
        diagonal: Whether every pixel varies on its own as well. Its noise
            has K numbers per pixel: leave it out for large images.
        train_samples: Draws per image of the Monte-Carlo estimate.
        every_annotator: Learn from the labels of all annotators of an image,
            not from one that is drawn.
        kwargs: See :class:`FeatureSegmentor`.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        rank: int = 10,
        diagonal: bool = True,
        train_samples: int = 20,
        every_annotator: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, net, **kwargs)
        at_least(1, rank=rank, train_samples=train_samples)
        self.rank, self.diagonal = rank, diagonal
        self.train_samples = train_samples
        self.every_annotator = every_annotator
        channels = self.net['features'].num_classes
        self.net['mean'] = nn.Conv2d(channels, num_classes, 1)
        self.net['factor'] = nn.Conv2d(channels, rank * num_classes, 1)
        if diagonal:
            self.net['log_diagonal'] = nn.Conv2d(channels, num_classes, 1)
        # The covariance grows from little: of draws that differ much, only
        # the best one learns, and a wide start may stay wide for good, with
        # samples that have nothing to do with labels.
        for name, bias in (('factor', 0.0), ('log_diagonal', -5.0)):
            if name in self.net:
                nn.init.normal_(self.net[name].weight, std=0.01)
                nn.init.constant_(self.net[name].bias, bias)

    def state(self, features: Tensor, seen: Tensor) -> LowRankGaussian:
        """The Gaussian over the logits."""
        scale = None
        if self.diagonal:
            scale = (0.5 * self.net['log_diagonal'](features)).exp()
        factor = self.net['factor'](features)
        factor = factor.unflatten(1, (self.rank, self.num_classes))
        return LowRankGaussian(self.net['mean'](features), factor, scale)

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """Numbers of the factor, then of the diagonal."""
        own = self.num_classes * math.prod(size) if self.diagonal else 0
        return (self.rank + own,)

    def sample(self, state: LowRankGaussian, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        return state.logits(z).softmax(2)

    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """Negative log-likelihood per known pixel."""
        gaussian = self.encode(batch.image, batch.data_samples)
        z = self.train_noise(batch, self.train_samples)
        every = self.every_annotator
        labels = batch.labels() if every else batch.label[:, None]
        likelihood = monte_carlo_likelihood(
            gaussian.logits(z), labels, self.ignore_index
        )
        known = (labels != self.ignore_index).sum().clamp(min=1)
        return dict(loss_likelihood=-likelihood.sum() / known)
