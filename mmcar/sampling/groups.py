"""Gumbel noise in two steps: what a pixel shows, then what that is called.

Where a class may go by several names, as with class flips, F is unsure of two
things: what a pixel shows, which is decided here or there, and what it is
called, which is decided once for the image. Drawing a group of names first,
then one name of it, has F's probabilities as one draw of a class has.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..utils.errors import UserError
from .gumbel import SharedGumbel
from .kernels import label_dtype


class GroupedGumbel:
    """Gumbel noise for groups of classes, and for the names in each group.

    Noise of groups is that of :class:`SharedGumbel`, and may differ between
    pixels; that of names is one number per class and image. So names agree in
    all of the image, and what is improbable everywhere need not happen
    everywhere at once.

    Args:
        num_classes: Number of classes, K.
        groups: Ids of classes that are names of one thing, e.g. ``((4, 11),
            (9, 12))`` of classes and their twins. A class in none of them is
            a group of its own.
        options: Other arguments of :class:`SharedGumbel`, for the groups.
    """

    def __init__(
        self,
        num_classes: int,
        groups: Sequence[Sequence[int]],
        **options: Any,
    ) -> None:
        self.members = all_groups(num_classes, groups)
        self.shown = SharedGumbel(len(self.members), **options)
        self.called = [
            (g, ids) for g, ids in enumerate(self.members) if ids[1:]
        ]
        self.num_names = sum(len(ids) for _, ids in self.called)
        self.noise_size = self.num_names + self.shown.noise_size
        self.varies = self.shown.varies
        group_of = {i: g for g, ids in enumerate(self.members) for i in ids}
        self.group_of = [group_of[i] for i in range(num_classes)]

    def likely(self, log_probs: Tensor) -> Tensor:
        """Log F (B, K, H, W) without groups below the floor."""
        if not self.shown.floor:
            return log_probs
        groups = self._groups(log_probs)
        change = self.shown.likely(groups) - groups
        # Of what is impossible there is nothing left to take.
        change = change.masked_fill(groups == -torch.inf, 0.0)
        return log_probs + change[:, self.group_of]

    def perturb(self, logits: Tensor, z: Tensor) -> Tensor:
        """Scores whose maximum is the class drawn.

        The best name of a group has the group's score, others have less.

        Args:
            logits: (B, K, H, W), or (S, B, K, H, W).
            z: Standard normal (S, B, noise_size).

        Returns:
            (S, B, K, H, W).
        """
        names, noise = self._split(z)
        groups = self.shown.perturb(self._groups(logits), noise)
        scores = groups[:, :, self.group_of]
        for (_, ids), own in zip(self.called, names, strict=True):
            name = SharedGumbel(len(ids)).perturb(logits[..., ids, :, :], own)
            best = name.amax(2, keepdim=True)
            # Where all names are impossible, so is the group: not NaN.
            best = best.clamp_min(torch.finfo(best.dtype).min)
            scores[:, :, ids] += name - best
        return scores

    def labels(self, log_probs: Tensor, z: Tensor) -> Tensor:
        """The argmax of `perturb`; see :meth:`GumbelNoise.labels`."""
        names, noise = self._split(z)
        groups = self.shown.labels(self._groups(log_probs), noise)
        new = partial(groups.new_tensor, dtype=label_dtype(len(self.group_of)))
        labels = new([ids[0] for ids in self.members])[groups.int()]
        for (g, ids), own in zip(self.called, names, strict=True):
            place = SharedGumbel(len(ids)).labels(log_probs[:, ids], own)
            labels = torch.where(groups == g, new(ids)[place.int()], labels)
        return labels

    def _groups(self, logits: Tensor) -> Tensor:
        """Logits of groups, (..., G, H, W) of (..., K, H, W)."""
        return torch.stack(
            [logits[..., ids, :, :].logsumexp(-3) for ids in self.members],
            dim=-3,
        )

    def _split(self, z: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Divide noise (S, B, noise_size).

        Names come first: of low-discrepancy noise, the first numbers are
        spread most evenly.

        Returns:
            The noise of each group's names, and that of groups.
        """
        names, noise = z.tensor_split([self.num_names], dim=-1)
        return names.split([len(ids) for _, ids in self.called], -1), noise


def build_gumbel(
    num_classes: int,
    groups: Sequence[Sequence[int]] | None = None,
    **options: Any,
) -> SharedGumbel | GroupedGumbel:
    """Shared noise; in two steps where there are groups of names."""
    if groups is None:
        return SharedGumbel(num_classes, **options)
    return GroupedGumbel(num_classes, groups, **options)


def all_groups(
    num_classes: int, groups: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Groups of names, and each class that is in none as one of its own.

    Returns:
        Ids of each group, ascending; the groups by their first id.

    Raises:
        UserError: No groups of two or more ids, an id that is no class or
            stands in two groups, or a single group of all classes.
    """
    try:
        given = [sorted(map(int, ids)) for ids in groups]
    except (TypeError, ValueError):
        given = [[]]
    ids = [i for group in given for i in group]
    alone = sorted(set(range(num_classes)) - set(ids))
    once = len(ids) + len(alone) == num_classes
    if not once or any(
        len(own) < 2 or len(own) == num_classes for own in given
    ):
        raise UserError(
            f'groups={groups!r}: expected groups of two or more ids from 0 to '
            f'{num_classes - 1}, every id once and not all in one group, e.g. '
            '[(4, 11), (9, 12)]'
        )
    return sorted(given + [[i] for i in alone])
