"""Gumbel noise that whole regions share.

``argmax_k (log F_k + g_k)`` with standard Gumbel g_k is an exact draw from F.
Sharing g_k between pixels keeps that true at each of them and makes the draw
coherent.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from ..utils.checks import at_least, fraction
from ..utils.errors import UserError
from ..utils.precision import full_precision
from .kernels import Tile, gumbel_from_normal, gumbel_labels

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
    if not 0 <= floor < 1 / num_classes:
        raise UserError(
            f'floor={floor!r}: expected 0 <= floor < 1 / {num_classes}, '
            'so that a class is left at every pixel'
        )


class GumbelNoise(ABC):
    """Standard Gumbel noise per class, from standard normal values."""

    varies = True
    """Whether noise differs between pixels."""

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
        if correlation_length is not None and not correlation_length > 0:
            raise UserError(
                f'correlation_length={correlation_length!r}: expected a '
                'number of pixels > 0, or None for one number per image'
            )
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
