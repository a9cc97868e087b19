"""Where the generator's noise comes from.

A source returns standard normal vectors that depend on a seed and on the
*name* of each image only, so that a result is the same whatever the batch
size, the order of the images or the number of processes.
"""

import hashlib
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from ..utils.checks import at_least
from ..utils.errors import UserError


class BaseNoise(ABC):
    """A source of noise vectors, each distributed as N(0, I)."""

    def __call__(
        self,
        keys: Sequence[str],
        num_samples: int,
        shape: int | tuple[int, ...],
        seed: int | tuple[int, ...],
        device: torch.device | str | None = None,
    ) -> Tensor:
        """Draw the noise of a batch.

        Args:
            keys: Stable name of each of the B images.
            num_samples: Vectors per image, S.
            shape: Shape of a sample's noise, e.g. its length d.
            seed: One or several integers, e.g. run seed and iteration.
            device: Where the result lives.

        Returns:
            Noise (S, B, *shape), float32. Fewer samples from the same seed
            are a prefix of more samples.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(shape)
        at_least(1, num_samples=num_samples, noise_size=size)
        given = seed if isinstance(seed, Sequence) else (seed,)
        try:
            seeds = tuple(map(operator.index, given))
        except TypeError:
            raise UserError(f'seed={seed!r}: expected an integer') from None
        draws = [
            self._draw(num_samples, size, _entropy(seeds, key)) for key in keys
        ]
        noise = torch.stack(draws, dim=1).to(device)  # (S, B, size)
        return noise.unflatten(-1, shape)

    @abstractmethod
    def _draw(self, num_samples: int, size: int, entropy: int) -> Tensor:
        """Return the vectors (S, d) of one image."""


class NormalNoise(BaseNoise):
    """Independent normal vectors: the noise of the paper."""

    def _draw(self, num_samples: int, size: int, entropy: int) -> Tensor:
        # NumPy fills one number after the other; torch.randn works in blocks,
        # which would break the prefix property.
        random = np.random.default_rng(entropy)
        return torch.from_numpy(
            random.standard_normal((num_samples, size), dtype=np.float32)
        )


class SobolNoise(BaseNoise):
    """Low-discrepancy vectors: a scrambled Sobol sequence per image.

    Each vector alone is distributed as N(0, I), but the vectors of one image
    cover the space evenly, so their mean varies far less. Figures obtained
    with it do not compare with those of independent samples.
    """

    def _draw(self, num_samples: int, size: int, entropy: int) -> Tensor:
        if size > SobolEngine.MAXDIM:
            raise UserError(
                f'noise_size={size}: a Sobol sequence has at most '
                f'{SobolEngine.MAXDIM} dimensions; use NormalNoise'
            )
        engine = SobolEngine(size, scramble=True, seed=entropy)
        uniform = engine.draw(num_samples, dtype=torch.float64)
        # The middle of each cell of the grid: never 0 or 1.
        uniform += 0.5 ** (SobolEngine.MAXBIT + 1)
        return torch.special.ndtri(uniform).float()


def content_key(image: Tensor) -> str:
    """A key of an image without a name, from its pixels (C, H, W)."""
    pixels = image.detach().to('cpu', torch.float32).numpy()
    return hashlib.sha256(pixels.tobytes()).hexdigest()


def _entropy(seeds: tuple[int, ...], key: str) -> int:
    """A 63-bit number from seeds and key, the same on every machine."""
    digest = hashlib.sha256(repr((seeds, key)).encode()).digest()
    return int.from_bytes(digest[:8], 'big') >> 1
