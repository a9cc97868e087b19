"""Draws in two steps: what a pixel shows, then what that is called."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...utils.class_argmax import gains_by_tiles, label_dtype
from ...utils.errors import UserError
from ..gumbel import SharedGumbel
from ..gumbel_argmax import gumbel_labels
from .base import BaseGenerator


class GroupFeatures(NamedTuple):
    """What does not depend on noise.

    Attributes:
        groups: Log-probabilities (B, G, H, W) of groups that can be drawn.
        log_probs: Log F (B, K, H, W).
    """

    groups: Tensor
    log_probs: Tensor


@MODELS.register_module()
class GroupSampler(BaseGenerator):
    """Training-free draws with two kinds of doubt.

    Where a class may go by several names, as with class flips, F is unsure of
    two things: what a pixel shows, which is decided here or there, and what
    it is called, which is decided once for the image. So a group of names is
    drawn first, with noise that may differ between pixels, then one name of
    each group, with one number per class and image. Frequencies are F's at
    every pixel, names agree in all of the image, and what is improbable
    everywhere need not happen everywhere at once.

    Args:
        num_classes: Number of classes, K.
        groups: Ids of classes that are names of one thing, e.g. ``((4, 11),
            (9, 12))`` of classes and their twins. A class in none of them is
            a group of its own.
        correlation_length: Of the noise that decides between groups, in
            pixels; None for one number per group and image.
        num_features: Waves that make up a field.
        common: Share of a field's variance that all pixels have in common.
        floor: Groups below this probability at a pixel are not drawn there.
        temperature: 0 gives one-hot maps; above, a softmax around the same
            argmax.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        groups: Sequence[Sequence[int]],
        correlation_length: float | None = None,
        num_features: int = 32,
        common: float = 0.0,
        floor: float = 0.0,
        temperature: float = 0.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        members = all_groups(num_classes, groups)
        shown = SharedGumbel(
            len(members), correlation_length, num_features, common, floor
        )
        self.num_names = sum(len(ids) for ids in members if len(ids) > 1)
        noise_size = self.num_names + shown.noise_size
        super().__init__(noise_size, temperature, init_cfg)
        self.num_classes, self.members, self.shown = (
            num_classes,
            members,
            shown,
        )

    @property
    def independent_samples(self) -> bool:
        """Always: nothing but noise is added per sample."""
        return True

    def encode(self, image: Tensor, log_probs: Tensor) -> GroupFeatures:
        """Probabilities of groups, and those of classes."""
        groups = torch.stack(
            [log_probs[:, ids].logsumexp(1) for ids in self.members], dim=1
        )
        return GroupFeatures(self.shown.likely(groups), log_probs)

    def decode(self, features: GroupFeatures, z: Tensor) -> Tensor:
        """Return scores (s, B, K, H, W) whose maximum is the class drawn.

        The best name of a group has the group's score, the others have less.
        """
        log_probs = features.log_probs
        names, noise = self._split(z)
        groups = features.groups + self.shown(noise, log_probs.shape[-2:])
        scores = torch.empty(len(z), *log_probs.shape).to(groups)
        for g, ids in enumerate(self.members):
            if len(ids) > 1:
                gumbel = SharedGumbel(len(ids))(next(names), (1, 1))
                own = log_probs[:, ids] + gumbel  # (s, B, ids, H, W)
                own = own - own.amax(2, keepdim=True)
                scores[:, :, ids] = own + groups[:, :, g, None]
            else:
                scores[:, :, ids] = groups[:, :, g, None]
        return scores

    def sample_labels(self, features: GroupFeatures, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W): the argmax of `decode`."""
        if not gains_by_tiles(z.device):
            return super().sample_labels(features, z)
        names, noise = self._split(z)
        groups = gumbel_labels(self.shown, features.groups, noise)
        dtype = label_dtype(self.num_classes)
        first = torch.tensor([ids[0] for ids in self.members], dtype=dtype)
        labels = first[groups.int()]
        for g, ids in enumerate(self.members):
            if len(ids) > 1:
                own = gumbel_labels(
                    SharedGumbel(len(ids)),
                    features.log_probs[:, ids],
                    next(names),
                )
                called = torch.tensor(ids, dtype=dtype)[own.int()]
                labels = torch.where(groups == g, called, labels)
        return labels

    def _split(self, z: Tensor) -> tuple:
        """Noise of the names of each group in turn, and of the groups.

        Names come first: of low-discrepancy noise, the first numbers are
        spread most evenly.
        """
        names, noise = z.tensor_split([self.num_names], dim=-1)
        sizes = [len(ids) for ids in self.members if len(ids) > 1]
        return iter(names.split(sizes, dim=-1)), noise


def all_groups(
    num_classes: int, groups: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Groups of names, and each class that is in none as one of its own.

    Returns:
        Ids of each group, ascending; the groups by their first id.

    Raises:
        UserError: An id that is no class, or stands in two groups.
    """
    given = [sorted(map(int, ids)) for ids in groups]
    ids = [i for group in given for i in group]
    if any(i not in range(num_classes) for i in ids):
        raise UserError(
            f'groups={groups!r}: expected ids from 0 to {num_classes - 1}'
        )
    if len(set(ids)) < len(ids) or any(len(group) < 2 for group in given):
        raise UserError(
            f'groups={groups!r}: expected two or more ids in each group, and '
            'every id once'
        )
    alone = [[i] for i in range(num_classes) if i not in ids]
    return sorted(given + alone)
