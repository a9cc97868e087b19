"""Gumbel noise that whole regions share.

``argmax_k (log F_k + g_k)`` with standard Gumbel g_k is an exact draw from F.
Sharing g_k between pixels keeps that true at each of them and makes the draw
coherent.
"""

import math

import torch
from torch import Tensor, nn
from torch.quasirandom import SobolEngine

from ..utils.checks import at_least, fraction
from ..utils.errors import UserError
from ..utils.precision import full_precision
from .kernels import gumbel_from_normal, gumbel_labels

# Below any log-probability by more than two Gumbel numbers can differ.
_NEVER = -1e4


def drop_unlikely(log_probs: Tensor, floor: float) -> Tensor:
    """Leave out classes that are hardly possible.

    Where whole regions share a number, what is unlikely everywhere happens
    everywhere at once: a sample in a hundred floods the picture. Without
    these classes it does not, and their probability goes to the others of
    the pixel in proportion: the frequency of a class differs from F by less
    than ``floor`` for each class that is left out.

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


class SharedGumbel(nn.Module):
    """Standard Gumbel noise per class, shared between pixels.

    Args:
        num_classes: Number of classes, K.
        correlation_length: None: one number per class and image. Else a
            smooth field per class with correlation
            ``exp(-0.5 * (distance / correlation_length) ** 2)`` between
            pixels (approximately; its variance is exactly 1 at each).
        num_features: Waves that make up a field, R.
        common: Share of a field's variance that all pixels have in common,
            added to the correlation of the rest: 0 for distant regions that
            vary independently, towards 1 for regions that mostly grow and
            shrink together.
        floor: Classes below this probability at a pixel are not drawn there,
            see `drop_unlikely`.
    """

    frequencies: Tensor | None

    def __init__(
        self,
        num_classes: int,
        correlation_length: float | None = None,
        num_features: int = 32,
        common: float = 0.0,
        floor: float = 0.0,
    ) -> None:
        super().__init__()
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
        self.noise_size = num_classes
        frequencies = None
        if correlation_length is not None:
            self.noise_size = num_classes * (2 * num_features + bool(common))
            # Evenly spread draws of N(0, 1 / length^2), fixed by the config:
            # nothing to learn, nothing to store in a checkpoint.
            spread = SobolEngine(2, scramble=True, seed=0).draw(num_features)
            normal = torch.special.ndtri(spread.clamp(1e-6, 1 - 1e-6))
            frequencies = normal / correlation_length  # (R, 2)
        self.register_buffer('frequencies', frequencies, persistent=False)

    def forward(self, z: Tensor, size: tuple[int, int]) -> Tensor:
        """Turn normal noise into Gumbel noise.

        Args:
            z: Standard normal (S, B, noise_size).
            size: Height and width of the image in pixels.

        Returns:
            Gumbel noise (S, B, K, H, W), or (S, B, K, 1, 1) without
            correlation length.
        """
        whole = slice(0, size[0]), slice(0, size[1])
        return gumbel_from_normal(self.normal(z, whole))

    def perturb(self, logits: Tensor, z: Tensor) -> Tensor:
        """Logits (B, K, H, W) or (S, B, K, H, W) with noise added.

        Returns:
            Scores (S, B, K, H, W) whose maximum is the class drawn.
        """
        return logits + self(z, logits.shape[-2:])

    def labels(self, log_probs: Tensor, z: Tensor) -> Tensor:
        """The argmax of `perturb`, in little time and memory.

        Args:
            log_probs: log F (B, K, H, W).
            z: Standard normal (S, B, noise_size).

        Returns:
            Label maps (S, B, H, W) as small integers.
        """
        return gumbel_labels(self, log_probs, z)

    @property
    def varies(self) -> bool:
        """Whether noise differs between pixels."""
        return self.frequencies is not None

    def likely(self, log_probs: Tensor) -> Tensor:
        """Log F (B, K, H, W) as samples are drawn from it."""
        return drop_unlikely(log_probs, self.floor)

    def normal(self, z: Tensor, tile: tuple[slice, slice]) -> Tensor:
        """The normal values behind the noise of some rows and columns.

        Args:
            z: Standard normal (S, B, noise_size).
            tile: Rows and columns, with start and stop.

        Returns:
            (S, B, K, h, w), or (S, B, K, 1, 1) without correlation length.
        """
        z = z.unflatten(-1, (self.num_classes, -1))  # (S, B, K, per class)
        if self.frequencies is None:
            return z[..., None]
        size = [part.stop - part.start for part in tile]
        # Half precision would shift the marginals, and has no log_ndtr.
        with full_precision(z):
            field = z @ self._waves(tile)  # (S, B, K, h * w)
        return field.unflatten(-1, size)

    def _waves(self, tile: tuple[slice, slice]) -> Tensor:
        """Cosines and sines of R plane waves (2R or 2R + 1, h * w).

        With ``common``, the last row is the same everywhere. At every pixel
        the sum of squares is 1.
        """
        frequencies = self.frequencies
        assert frequencies is not None  # one number needs no waves
        rows, columns = (
            torch.arange(part.start, part.stop, device=frequencies.device)
            for part in tile
        )
        # Not by cartesian_prod, which ONNX lacks.
        grid = torch.stack(torch.meshgrid(rows, columns, indexing='ij'), -1)
        phase = frequencies @ grid.reshape(-1, 2).T.float()
        waves = torch.cat((phase.cos(), phase.sin())) / math.sqrt(len(phase))
        if not self.common:
            return waves
        constant = torch.full_like(waves[:1], math.sqrt(self.common))
        return torch.cat((waves * math.sqrt(1 - self.common), constant))
