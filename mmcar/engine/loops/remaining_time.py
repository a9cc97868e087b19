"""How long a training will take whose iterations differ in cost."""

from collections import Counter, deque
from statistics import fmean
from typing import NamedTuple

from .schedule import Schedule

WINDOW = 100
"""Iterations of a kind over which its cost is averaged."""


class Kind(NamedTuple):
    """Iterations that cost the same: of one phase, with the same networks."""

    phase: int
    active: tuple[str, ...]


class RemainingTime:
    """Time left, each phase at its own price.

    What has not been measured yet is estimated: iterations of a phase from
    others of it, a later phase from the current one and the ratio of what
    one step of each took in the preflight.

    Args:
        schedule: The phases.
        start: First iteration.
    """

    def __init__(self, schedule: Schedule, start: int = 0) -> None:
        self.schedule = schedule
        self.left = Counter(
            self.kind(i) for i in range(start, schedule.max_iters)
        )
        self.measured: dict[Kind, deque[float]] = {}
        self.tried: dict[int, float] = {}

    def kind(self, iteration: int) -> Kind:
        """What kind of iteration it is."""
        phase = self.schedule.phase_of(iteration)
        return Kind(phase, self.schedule.active(iteration))

    def expect(self, phase: int, seconds: float) -> None:
        """Note how long one step of a phase took when it was tried.

        Args:
            phase: Its index.
            seconds: On any batch, as long as it is the same for all phases.
        """
        self.tried[phase] = seconds

    def measure(self, iteration: int, seconds: float) -> None:
        """Note how long an iteration took, that is now over."""
        kind = self.kind(iteration)
        self.left[kind] -= 1
        costs = self.measured.setdefault(kind, deque(maxlen=WINDOW))
        if len(costs) == 1:
            costs.clear()  # the first one also starts things up
        costs.append(seconds)

    def seconds(self) -> float:
        """Of all iterations that are left."""
        left = +self.left  # those of which some are
        return sum(number * self._cost(kind) for kind, number in left.items())

    def _cost(self, kind: Kind) -> float:
        if kind in self.measured:
            return fmean(self.measured[kind])
        phases: dict[int, list[float]] = {}
        for other, costs in self.measured.items():
            phases.setdefault(other.phase, []).append(fmean(costs))
        nearest = (
            kind.phase if kind.phase in phases else max(phases, default=0)
        )
        tried = self.tried.get(kind.phase, 1), self.tried.get(nearest, 1)
        ratio = tried[0] / tried[1] if len(self.tried) > 1 else 1.0
        return fmean(phases.get(nearest, [0.0])) * ratio
