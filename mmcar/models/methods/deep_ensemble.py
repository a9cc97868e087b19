"""Deep ensembles (Lakshminarayanan et al., NeurIPS 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from ...compat.configs import read_config
from ...utils.checks import at_least
from ...utils.errors import UserError
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.training import TrainBatch
from ..weights import load_checkpoint
from .mixture import MixtureSegmentor, Part
from .wrapping import build_inner, settings_of


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
        if checkpoints and len(checkpoints) != number:
            raise UserError(
                f'num_members={number}, but there are {len(checkpoints)} '
                'checkpoints: leave num_members out.'
            )
        members = [
            build_inner(member, data_preprocessor, test_cfg)
            for _ in range(number)
        ]
        super().__init__(**settings_of(members[0]), **kwargs)
        self.data_preprocessor = members[0].data_preprocessor
        self.members = nn.ModuleList(members)
        for model, path in zip(members, checkpoints, strict=False):
            load_checkpoint(
                model,
                path,
                source=f'checkpoints: {path!r}',
                advice='Make `member` the config that it was trained with.',
            )
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
        index = int(number)
        member = self.members[index]
        if index not in batch.own:
            batch.own[index] = member.train_batch(
                batch.image, batch.data_samples, (*batch.seed, index)
            )
        losses = member.losses(own, batch.own[index])
        return {f'{key}_{index}': value for key, value in losses.items()}
