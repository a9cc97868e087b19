"""Samples of several models or views: which one, the noise decides."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...utils.precision import log_mean
from ..segmentors.stochastic_segmentor import StochasticSegmentor


class Part(NamedTuple):
    """A model that has seen the images in its own way.

    Attributes:
        model: The model.
        state: What it encoded.
        back: Brings its maps (..., h, w) back to the images' view.
    """

    model: StochasticSegmentor
    state: Any
    back: Callable[[Tensor], Tensor] = lambda maps: maps


class MixtureSegmentor(StochasticSegmentor):
    """A sample is one of several parts and that part's own draw.

    The state is a list of parts. The first number of the noise chooses one
    of them, each equally likely; the others are the part's own noise.
    """

    @property
    @abstractmethod
    def typical(self) -> StochasticSegmentor:
        """One of the models: all take the same noise."""

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """The choice of the part, and its noise in one row."""
        return (1 + math.prod(self.typical.noise_shape(size)),)

    @property
    def one_hot(self) -> bool:
        """Whether the parts' samples are one-hot."""
        return self.typical.one_hot

    @property
    def joint_samples(self) -> bool:
        """Whether the samples of a part depend on each other."""
        return self.typical.joint_samples

    def log_probs(self, state: Sequence[Part]) -> Tensor:
        """Log of the parts' mean probabilities (B, K, H, W)."""
        return log_mean(
            part.back(part.model.log_probs(part.state).exp()) for part in state
        )

    def sample(self, state: Sequence[Part], z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        return self._draw(state, z, 'sample')

    def sample_labels(self, state: Sequence[Part], z: Tensor) -> Tensor:
        """Draw label maps (s, B, H, W)."""
        return self._draw(state, z, 'sample_labels')

    def _draw(self, state: Sequence[Part], z: Tensor, how: str) -> Tensor:
        chosen = choose(z[..., 0], len(state)).cpu()  # (s, B)
        drawn: Any = None
        for index in chosen.unique().tolist():
            part, own = state[index], chosen == index
            rows = own.any(1).nonzero()[:, 0]
            # All images of a batch are drawn, whichever of them need it.
            noise = z[rows, :, 1:]
            maps = part.back(getattr(part.model, how)(part.state, noise))
            if drawn is None:
                drawn = maps.new_empty((len(z), *maps.shape[1:]))
            mask = own[rows].view(*maps.shape[:2], *[1] * (maps.dim() - 2))
            drawn[rows] = maps.where(mask.to(maps.device), drawn[rows])
        return drawn


def choose(z: Tensor, number: int) -> Tensor:
    """One of so many, equally likely, for each standard normal number."""
    uniform = torch.special.ndtr(z.double())
    return (uniform * number).long().clamp_(max=number - 1)
