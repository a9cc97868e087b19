"""Gumbel noise that whole regions share.

``argmax_k (log F_k + g_k)`` with standard Gumbel g_k is an exact draw from F.
Sharing g_k between pixels keeps that true at each of them and makes the draw
coherent.

Where a class may go by several names, as with class flips, F is unsure of two
things: what a pixel shows, which is decided here or there, and what it is
called, which is decided once for the image. Drawing a group of names first,
then one name of it, has F's probabilities as one draw of a class has.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from typing_extensions import TypedDict, Unpack

from ..utils.checks import at_least, fraction, positive
from ..utils.errors import UserError
from ..utils.precision import full_precision
from .kernels import Tile, gumbel_from_normal, gumbel_labels, label_dtype

# Below any log-probability by more than two Gumbel numbers can differ.
_NEVER = -1e4


def drop_unlikely(log_probs: Tensor, floor: float) -> Tensor:
    """Leave out classes that are hardly possible.

    Where whole regions share a number, what is unlikely everywhere happens
    everywhere at once: a sample in a hundred floods the picture. Without
    these classes it does not, and their probability goes to the others of
    the pixel in proportion: the frequency of a class differs from F by less
    than ``floor`` times the number of classes left out there.

    Args:
        log_probs: log F (B, K, H, W).
        floor: Probability below which a class is left out; less than 1 / K.

    Returns:
        (B, K, H, W).
    """
    if not floor:
        return log_probs
    return log_probs.masked_fill(log_probs < math.log(floor), _NEVER)


def check_floor(floor: float, num_classes: int) -> None:
    """Refuse a floor that could leave no class at a pixel."""
    if not isinstance(floor, Real) or not 0 <= floor < 1 / num_classes:
        raise UserError(
            f'floor={floor!r}: expected 0 <= floor < 1 / {num_classes}, '
            'so that a class is left at every pixel'
        )


class GumbelSettings(TypedDict, total=False):
    """Settings of :class:`SharedGumbel`, and ``groups`` of classes."""

    groups: Sequence[Sequence[int]] | None
    correlation_length: float | None
    num_features: int
    common: float
    floor: float


class GumbelNoise(ABC):
    """Standard Gumbel noise per class, from standard normal values."""

    # Whether noise differs between pixels.
    varies = True

    @abstractmethod
    def normal(self, z: Tensor, tile: Tile) -> Tensor:
        """The normal values behind the noise of some rows and columns.

        Args:
            z: Standard normal (S, B, noise_size).
            tile: Rows and columns, with start and stop.

        Returns:
            (S, B, K, h, w), or (S, B, K, 1, 1) if all pixels share.
        """

    def perturb(self, logits: Tensor, z: Tensor) -> Tensor:
        """Logits (B, K, H, W) or (S, B, K, H, W) with noise added.

        Returns:
            Scores (S, B, K, H, W) whose maximum is the class drawn.
        """
        height, width = logits.shape[-2:]
        whole = slice(0, height), slice(0, width)
        return logits + gumbel_from_normal(self.normal(z, whole))

    def labels(self, log_probs: Tensor, z: Tensor) -> Tensor:
        """The argmax of `perturb`, in little time and memory.

        Args:
            log_probs: log F (B, K, H, W).
            z: Standard normal (S, B, noise_size).

        Returns:
            Label maps (S, B, H, W) as small integers.
        """
        return gumbel_labels(log_probs, z, self.normal, self.varies)


class SharedGumbel(GumbelNoise):
    """Standard Gumbel noise per class, shared between pixels.

    Args:
        num_classes: Number of classes, K.
        correlation_length: None: one number per class and image. Else a
            smooth field per class, standard normal at every pixel, with
            correlation ``exp(-0.5 * (distance / correlation_length) ** 2)``
            between pixels. Both are exact over the samples of an image.
        num_features: Waves that make up a field, R. Each sample draws their
            frequencies anew: waves that all samples had in common would make
            pixels far apart agree wherever these waves meet again.
        common: Share of a field's variance that all pixels have in common,
            added to the correlation of the rest: 0 for distant regions that
            vary independently, towards 1 for regions that mostly grow and
            shrink together.
        floor: Classes below this probability at a pixel are not drawn there,
            see `drop_unlikely`.
    """

    def __init__(
        self,
        num_classes: int,
        correlation_length: float | None = None,
        num_features: int = 32,
        common: float = 0.0,
        floor: float = 0.0,
    ) -> None:
        at_least(2, num_classes=num_classes)
        at_least(1, num_features=num_features)
        if correlation_length is not None:
            positive(correlation_length=correlation_length)
        fraction(common=common)
        if common and correlation_length is None:
            raise UserError(
                f'common={common!r} without a field: set correlation_length'
            )
        check_floor(floor, num_classes)
        self.num_classes = num_classes
        self.common = common
        self.floor = floor
        self.correlation_length = correlation_length
        self.varies = correlation_length is not None
        self.num_features = num_features
        self.noise_size = num_classes
        if correlation_length is not None:
            amplitudes = num_classes * (2 * num_features + bool(common))
            self.noise_size = amplitudes + 2 * num_features

    def likely(self, log_probs: Tensor) -> Tensor:
        """Log F (B, K, H, W) as samples are drawn from it."""
        return drop_unlikely(log_probs, self.floor)

    def normal(self, z: Tensor, tile: Tile) -> Tensor:
        """See :class:`GumbelNoise`; one number without correlation length."""
        if self.correlation_length is None:
            return z[..., None, None]
        # Half precision would shift the marginals, and has no log_ndtr.
        with full_precision(z):
            return self._field(z, tile)

    def _field(self, z: Tensor, tile: Tile) -> Tensor:
        """Sums of R plane waves of each sample's own (S, B, K, h, w).

        A wave ``a cos(ux + vy) + b sin(ux + vy)`` is a product of functions
        of x and of y, so all of them together are a product of matrices.
        """
        assert self.correlation_length is not None  # see `normal`
        waves = 2 * self.num_features
        z, frequencies = z.tensor_split([self.noise_size - waves], dim=-1)
        z = z.unflatten(-1, (self.num_classes, -1))  # (S, B, K, per class)
        a, b = z[..., None, :waves].chunk(2, dim=-1)  # (S, B, K, 1, R)
        v, u = frequencies[..., None, :].chunk(2, dim=-1)  # (S, B, 1, R)
        rows, columns = (
            torch.arange(part.start, part.stop, device=z.device)[:, None]
            for part in tile
        )
        y, x = (
            places * frequency / self.correlation_length
            for places, frequency in ((rows, v), (columns, u))
        )
        y = y[:, :, None]  # (S, B, 1, h, R)
        share = math.sqrt((1 - self.common) / self.num_features)
        of_rows = torch.cat(
            (a * y.cos() + b * y.sin(), b * y.cos() - a * y.sin()), dim=-1
        )  # (S, B, K, h, 2R)
        of_columns = share * torch.cat((x.cos(), x.sin()), dim=-1)
        # (S, B, K * h, w)
        field = of_rows.flatten(2, 3) @ of_columns.transpose(-1, -2)
        field = field.unflatten(2, of_rows.shape[2:4])
        if self.common:  # a number that all pixels share, the last
            field = field + math.sqrt(self.common) * z[..., None, -1:]
        return field


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
        self, num_classes: int, groups: Sequence[Sequence[int]], **options: Any
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
    num_classes: int, **settings: Unpack[GumbelSettings]
) -> SharedGumbel | GroupedGumbel:
    """Shared noise; in two steps where there are groups of names."""
    options: dict[str, Any] = {**settings}
    groups = options.pop('groups', None)
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
            f'groups={groups!r}: expected groups of two or more ids below '
            f'{num_classes}, each once, e.g. [(4, 11), (9, 12)]'
        )
    return sorted(given + [[i] for i in alone])


def unit_norm(weights: Tensor) -> Tensor:
    """Weights (B, R, H, W) divided by their norm over R.

    Where there is none, all are alike: a pixel without noise would be drawn
    with certainty.
    """
    weights = weights.float()
    norm = torch.linalg.vector_norm(weights, dim=1, keepdim=True)
    even = weights.shape[1] ** -0.5
    return torch.where(norm < 1e-6, even, weights / norm.clamp_min(1e-6))


class WeightedField(GumbelNoise):
    """Fields of a batch of images.

    Args:
        weights: (B, R, H, W), of norm 1 at every pixel.
    """

    def __init__(self, weights: Tensor) -> None:
        self.weights = weights

    def normal(self, z: Tensor, tile: Tile) -> Tensor:
        """Sums (S, B, K, h, w) of K * R numbers per sample and image."""
        weights = self.weights[(..., *tile)]  # (B, R, h, w)
        z = z.unflatten(-1, (-1, weights.shape[1]))  # (S, B, K, R)
        with full_precision(z):
            field = z @ weights.flatten(2)  # (S, B, K, h * w)
        return field.unflatten(-1, weights.shape[2:])
