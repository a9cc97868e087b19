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
        return sum(
            number * self._cost(kind)
            for kind, number in self.left.items()
            if number > 0
        )

    def _cost(self, kind: Kind) -> float:
        if kind in self.measured:
            return fmean(self.measured[kind])
        known = {
            phase: fmean(
                fmean(costs)
                for other, costs in self.measured.items()
                if other.phase == phase
            )
            for phase in {other.phase for other in self.measured}
        }
        if not known:
            return 0.0
        if kind.phase in known:
            return known[kind.phase]
        nearest = max(known)
        if {nearest, kind.phase} <= self.tried.keys():
            ratio = self.tried[kind.phase] / self.tried[nearest]
            return known[nearest] * ratio
        return known[nearest]
