"""Gumbel noise in two steps: what a pixel shows, then what that is called.

Where a class may go by several names, as with class flips, F is unsure of two
things: what a pixel shows, which is decided here or there, and what it is
called, which is decided once for the image. Drawing a group of names first,
then one name of it, has F's probabilities as one draw of a class has.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..utils.errors import UserError
from .gumbel import SharedGumbel
from .kernels import label_dtype


class GroupedGumbel(nn.Module):
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
        super().__init__()
        self.members = all_groups(num_classes, groups)
        self.shown = SharedGumbel(len(self.members), **options)
        self.called = {  # nothing in them to store or move
            g: SharedGumbel(len(ids))
            for g, ids in enumerate(self.members)
            if len(ids) > 1
        }
        self.num_names = sum(own.num_classes for own in self.called.values())
        self.noise_size = self.num_names + self.shown.noise_size
        group_of = {i: g for g, ids in enumerate(self.members) for i in ids}
        self.group_of = [group_of[i] for i in range(num_classes)]

    @property
    def varies(self) -> bool:
        """Whether noise differs between pixels."""
        return self.shown.varies

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
        for g, (gumbel, own) in names.items():
            ids = self.members[g]
            name = gumbel.perturb(logits[..., ids, :, :], own)
            best = name.amax(2, keepdim=True)
            # Where all names are impossible, so is the group: not NaN.
            best = best.clamp_min(torch.finfo(best.dtype).min)
            scores[:, :, ids] += name - best
        return scores

    def labels(self, log_probs: Tensor, z: Tensor) -> Tensor:
        """The argmax of `perturb`; see :meth:`SharedGumbel.labels`."""
        names, noise = self._split(z)
        groups = self.shown.labels(self._groups(log_probs), noise)
        dtype = label_dtype(len(self.group_of))

        def table(ids: list[int]) -> Tensor:
            return torch.tensor(ids, dtype=dtype, device=groups.device)

        labels = table([ids[0] for ids in self.members])[groups.int()]
        for g, (gumbel, own) in names.items():
            ids = self.members[g]
            place = gumbel.labels(log_probs[:, ids], own)
            labels = torch.where(groups == g, table(ids)[place.int()], labels)
        return labels

    def _groups(self, logits: Tensor) -> Tensor:
        """Logits of groups, (..., G, H, W) of (..., K, H, W)."""
        return torch.stack(
            [logits[..., ids, :, :].logsumexp(-3) for ids in self.members],
            dim=-3,
        )

    def _split(
        self, z: Tensor
    ) -> tuple[dict[int, tuple[SharedGumbel, Tensor]], Tensor]:
        """Divide noise (S, B, noise_size).

        Names come first: of low-discrepancy noise, the first numbers are
        spread most evenly.

        Returns:
            By group of several names, their Gumbel numbers with the noise
            behind these; and the noise of groups.
        """
        names, noise = z.tensor_split([self.num_names], dim=-1)
        sizes = [own.num_classes for own in self.called.values()]
        parts = zip(
            self.called.items(), names.split(sizes, dim=-1), strict=True
        )
        return {g: (gumbel, own) for (g, gumbel), own in parts}, noise


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
        UserError: No groups of ids, an id that is no class, or one that
            stands in two groups.
    """
    try:
        given = [sorted(map(int, ids)) for ids in groups]
    except (TypeError, ValueError) as error:
        raise UserError(
            f'groups={groups!r}: expected groups of class ids, e.g. '
            '[(4, 11), (9, 12)]'
        ) from error
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
    if len(ids) == num_classes and len(given) == 1:
        raise UserError(
            f'groups={groups!r}: one group of all classes leaves nothing to '
            'decide between'
        )
    alone = [[i] for i in range(num_classes) if i not in ids]
    return sorted(given + alone)
