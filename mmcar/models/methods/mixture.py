"""Samples of several models or views: which one, the noise decides."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...compat.configs import read_config
from ...utils.checks import agree, at_least, one_of, positive
from ...utils.errors import UserError
from ...utils.precision import log_mean
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.training import TrainBatch
from ..views import SYMMETRIES, views_of
from ..weights import load_checkpoint
from .base import WrappedSegmentor, build_inner, settings_of


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


@dataclass
class EnsembleBatch(TrainBatch):
    """A batch, and the form in which each member has it."""

    own: dict[int, TrainBatch] = field(default_factory=dict)


@MODELS.register_module()
class DeepEnsemble(MixtureSegmentor):
    """Models of one config; a sample is a member and its draw.

    Members that are trained together start from different weights. Their
    networks carry the number of the member, as ``calibration_0``: a phase
    for each trains them one after the other, on different batches.

    Args:
        member: Config of a member, any model that samples, or the path of a
            config file.
        checkpoints: Weights of the members, which are then not trained.
        num_members: Number of members, where there are no checkpoints.
        data_preprocessor: That of the members by default, as they were
            trained; another one is refused.
        test_cfg: That of the members by default, which get the same.
        kwargs: Further arguments of :class:`StochasticSegmentor`.
    """

    batch_class = EnsembleBatch

    def __init__(
        self,
        member: dict | str,
        checkpoints: Sequence[str] = (),
        num_members: int | None = None,
        data_preprocessor: dict | None = None,
        test_cfg: dict | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(member, str):
            member = read_config(member, key='member').model
        number = num_members or len(checkpoints)
        at_least(1, num_members=number)
        given = len(checkpoints) or number
        agree({'num_members': number, 'number of checkpoints': given})
        inner = member, data_preprocessor, test_cfg
        members = [build_inner(*inner) for _ in range(number)]
        super().__init__(**settings_of(members[0]), **kwargs)
        self.data_preprocessor = members[0].data_preprocessor
        self.members = nn.ModuleList(members)
        for model, path in zip(members, checkpoints, strict=False):
            load_checkpoint(model, path, f'checkpoints: {path!r}')
            model.requires_grad_(False)

    @property
    def typical(self) -> StochasticSegmentor:
        """The first member."""
        return self.members[0]

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> list[Part]:
        """States of all members."""
        return [
            Part(member, member.encode(inputs, data_samples))
            for member in self.members
        ]

    def networks(self) -> dict[str, nn.Module]:
        """The networks of all members, with the member's number."""
        return {
            f'{name}_{i}': network
            for i, member in enumerate(self.members)
            for name, network in member.networks().items()
        }

    def losses(self, name: str, batch: EnsembleBatch) -> dict[str, Tensor]:
        """What a member's network learns from."""
        own, _, number = name.rpartition('_')
        member = self.members[index := int(number)]
        if index not in batch.own:
            batch.own[index] = member.train_batch(
                batch.image, batch.data_samples, (*batch.seed, index)
            )
        losses = member.losses(own, batch.own[index])
        return {f'{key}_{index}': value for key, value in losses.items()}


@MODELS.register_module()
class TTASegmentor(MixtureSegmentor, WrappedSegmentor):
    """A sample is a view of the image and the model's draw from it.

    Views are flips and quarter turns, which are undone exactly, and scales.
    The model trains as it would alone.

    Args:
        model: Config of the model, any that samples.
        symmetries: ``'none'``, ``'horizontal'`` for images and their mirror
            images, ``'flips'`` for both flips, ``'square'`` for quarter turns
            as well (where images are not square: both flips).
        scales: Factors of the image's size, each with every symmetry.
        kwargs: Further arguments of :class:`WrappedSegmentor`.
    """

    def __init__(
        self,
        model: dict,
        symmetries: str = 'horizontal',
        scales: Sequence[float] = (1.0,),
        **kwargs: Any,
    ) -> None:
        super().__init__(model, **kwargs)
        one_of(SYMMETRIES, symmetries=symmetries)
        positive(scales=min(scales, default=0))
        self.symmetries, self.scales = symmetries, scales

    @property
    def typical(self) -> StochasticSegmentor:
        """The model."""
        return self.model

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> list[Part]:
        """States of all views."""
        size = (inputs.shape[-2], inputs.shape[-1])
        parts = []
        for view in views_of(self.symmetries, size, self.scales):
            seen = view.look(inputs)
            noise = self.model.noise_shape((seen.shape[-2], seen.shape[-1]))
            if noise != self.model.noise_shape(size):
                raise UserError(
                    'scales: the noise of the model depends on the size of '
                    'images; leave scales out'
                )
            # Without data samples: they know the image as it lies on disk.
            back = partial(view.back, size=size)
            parts.append(Part(self.model, self.model.encode(seen), back))
        return parts
