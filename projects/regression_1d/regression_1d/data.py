"""Bimodal 1D data with a known density, for many runs at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from zlib import crc32

import torch
from torch import Tensor

PIS = (0.5, 0.6, 0.9)
SIGMAS = (0.01, 0.02, 0.03)
LOG_FLOOR = math.log(1e-11)


@dataclass(frozen=True)
class Run:
    """One training: a data configuration, a repeat, with L_cal or without.

    Attributes:
        pi: Probability of the lower branch.
        sigma: Standard deviation around the branches.
        repeat: Seed of data, noise and initial weights. Runs of one repeat
            share them, so that they differ in what they are compared by.
        calibrated: Whether the generator is trained with L_cal.
    """

    pi: float
    sigma: float
    repeat: int
    calibrated: bool


def grid(
    pis: Sequence[float] = PIS,
    sigmas: Sequence[float] = SIGMAS,
    repeats: int = 5,
) -> list[Run]:
    """All runs: every configuration and repeat, first those with L_cal."""
    return [
        Run(pi, sigma, repeat, calibrated)
        for calibrated, pi, sigma, repeat in product(
            (True, False), pis, sigmas, range(repeats)
        )
    ]


def branches(x: Tensor) -> tuple[Tensor, Tensor]:
    """Upper and lower branch at x in [0, 1], of the shape of x.

    They run in parallel on [0, 0.4), meet linearly on [0.4, 0.8) and are one
    on [0.8, 1].
    """
    slope = 1 - 1.25 * x
    upper = torch.where(x < 0.4, 0.5, slope)
    lower = torch.where(x < 0.4, -0.5, -slope)
    joined = x >= 0.8
    return upper.masked_fill(joined, 0), lower.masked_fill(joined, 0)


@dataclass
class BimodalData:
    """Draws data for R runs and knows its density.

    Attributes:
        runs: The R runs.
        seed: Seed of the experiment.
        purpose: What the draws are for, e.g. 'training': other purposes have
            other random streams and do not disturb each other.
    """

    runs: Sequence[Run]
    seed: int = 0
    purpose: str = 'training'
    pi: Tensor = field(init=False)
    sigma: Tensor = field(init=False)

    def __post_init__(self) -> None:
        """Make one random stream per repeat."""
        self.pi = torch.tensor([run.pi for run in self.runs]).unsqueeze(1)
        sigmas = [run.sigma for run in self.runs]
        self.sigma = torch.tensor(sigmas).unsqueeze(1)
        repeats = sorted({run.repeat for run in self.runs})
        self._streams = [
            torch.Generator().manual_seed(
                crc32(f'{self.seed}/{repeat}/{self.purpose}'.encode())
            )
            for repeat in repeats
        ]
        self._stream_of_run = torch.tensor(
            [repeats.index(run.repeat) for run in self.runs]
        )

    def normal(self, *shape: int) -> Tensor:
        """Standard normal noise (R, *shape), the same within a repeat."""
        draws = [torch.randn(shape, generator=s) for s in self._streams]
        return torch.stack(draws)[self._stream_of_run]

    def uniform(self, *shape: int) -> Tensor:
        """Uniform noise (R, *shape), the same within a repeat."""
        draws = [torch.rand(shape, generator=s) for s in self._streams]
        return torch.stack(draws)[self._stream_of_run]

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """Draw x and y, each (R, count)."""
        x, chance = self.uniform(2, count).unbind(1)
        upper, lower = branches(x)
        y = torch.where(chance < self.pi, lower, upper)
        return x, y + self.sigma * self.normal(count)

    def mean(self, x: Tensor) -> Tensor:
        """E[y | x] of each run, (R, N) -> (R, N)."""
        upper, lower = branches(x)
        return (1 - self.pi) * upper + self.pi * lower

    def log_density(self, x: Tensor, y: Tensor) -> Tensor:
        """Log-density of y given x of each run, (R, N) each -> (R, N)."""
        upper, lower = branches(x)
        weights = torch.stack([1 - self.pi, self.pi]).log()  # (2, R, 1)
        normal = torch.distributions.Normal(
            torch.stack([upper, lower]), self.sigma
        )
        return (weights + normal.log_prob(y)).logsumexp(0)

    def floored_log_density(self, x: Tensor, y: Tensor) -> Tensor:
        """Log of density + 1e-11: no sample is worse than -25.3 nats.

        As in the authors' notebook, where single samples between narrow
        branches cannot decide the mean.
        """
        return self.log_density(x, y).logaddexp(torch.tensor(LOG_FLOOR))
