"""Which network trains at which iteration, as pure arithmetic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..utils.checks import at_least
from ..utils.errors import UserError
from ..utils.type_check import check_keys, fits

TYPES: dict[str, Any] = dict(
    iters=int, train=Sequence[str], cycles=Mapping | None, copy=Mapping | None
)


@dataclass(frozen=True)
class Phase:
    """A stretch of iterations in which the same networks train.

    Args:
        start: First iteration.
        iters: Number of iterations.
        train: Names of the networks that train.
        cycles: Per network ``(on, off)``: updates for ``on`` iterations, then
            rests for ``off``, counted from the start of the phase. Networks
            not named train at every iteration.
        copy: Weights to take over before the first iteration: parts by path
            from a network's name, each with the part it becomes equal to.
    """

    start: int
    iters: int
    train: tuple[str, ...]
    cycles: dict[str, tuple[int, int]] = field(default_factory=dict)
    copy: dict[str, str] = field(default_factory=dict)

    def trains(self, name: str, offset: int) -> bool:
        """Whether a network trains ``offset`` iterations into the phase."""
        on, off = self.cycles.get(name, (1, 0))
        return name in self.train and offset % (on + off) < on

    def num_updates(self, name: str, offset: int) -> int:
        """Updates of a network in the first ``offset`` iterations."""
        if name not in self.train:
            return 0
        on, off = self.cycles.get(name, (1, 0))
        full, rest = divmod(min(max(offset, 0), self.iters), on + off)
        return full * on + min(rest, on)


class Schedule:
    """The phases of a training run.

    Args:
        phases: One dict per phase: ``iters`` (number of iterations),
            ``train`` (names of the networks that train) and optionally
            ``cycles`` (name -> ``(on, off)``) and ``copy`` (weights that the
            phase begins with, e.g. ``{'generator.net': 'calibration'}``). A
            phase of 0 iterations is allowed: it is how a finished stage is
            skipped.

    Example:
        >>> schedule = Schedule([
        ...     dict(iters=100, train=['calibration']),
        ...     dict(iters=500, train=['generator', 'discriminator'],
        ...          cycles=dict(discriminator=(50, 200)))])
        >>> schedule.active(150), schedule.num_updates('discriminator', 350)
        (('generator',), 50)
    """

    def __init__(self, phases: Sequence[Mapping]) -> None:
        if not phases:
            raise UserError('phases is empty: name at least one phase.')
        self.phases: list[Phase] = []
        start = 0
        for index, cfg in enumerate(phases):
            self.phases.append(_parse(index, cfg, start))
            start += self.phases[-1].iters

    @property
    def max_iters(self) -> int:
        """Iterations of all phases together."""
        return self.phases[-1].start + self.phases[-1].iters

    @property
    def networks(self) -> tuple[str, ...]:
        """Every network named by some phase, in order of appearance."""
        return tuple(dict.fromkeys(n for p in self.phases for n in p.train))

    def phase_of(self, iteration: int) -> int:
        """Index of the phase of an iteration; the last one if none is."""
        for index, phase in enumerate(self.phases):
            if 0 <= iteration - phase.start < phase.iters:
                return index
        return len(self.phases) - 1

    def active(self, iteration: int) -> tuple[str, ...]:
        """Names of the networks that train at an iteration."""
        phase = self.phases[self.phase_of(iteration)]
        offset = iteration - phase.start
        if not 0 <= offset < phase.iters:
            return ()
        return tuple(n for n in phase.train if phase.trains(n, offset))

    def num_updates(self, name: str, iteration: int) -> int:
        """Iterations before ``iteration`` at which a network trains."""
        return sum(
            phase.num_updates(name, iteration - phase.start)
            for phase in self.phases
        )

    def span(self, name: str) -> tuple[int, int]:
        """First iteration of the phases that train a network, and its end.

        Phases without iterations count where there are no others.
        """
        found = [phase for phase in self.phases if name in phase.train]
        found = [phase for phase in found if phase.iters] or found
        return found[0].start, found[-1].start + found[-1].iters

    def validate(self, networks: Iterable[str]) -> None:
        """Refuse phases that name a network which does not exist.

        Args:
            networks: Names of the networks that can be trained.
        """
        valid = list(networks)
        for index, phase in enumerate(self.phases):
            for name in phase.train:
                if name not in valid:
                    raise UserError(
                        f'phases[{index}].train={name!r}: expected of {valid}.'
                    )


def _parse(index: int, cfg: Mapping, start: int) -> Phase:
    where = f'phases[{index}]'
    check_keys(where, cfg, TYPES)
    iters: Any = cfg.get('iters')
    train = cfg.get('train', ())
    at_least(0, **{f'{where}.iters': iters})
    if not train or len(set(train)) < len(train):
        raise UserError(f'{where}.train={train!r}: name networks, each once.')
    cycles = cfg.get('cycles') or {}
    for name, cycle in cycles.items():
        known = name in train and fits(cycle, Sequence[int])
        if not known or len(cycle) != 2 or cycle[0] < 1 or cycle[1] < 0:
            raise UserError(
                f'{where}.cycles[{name!r}]={cycle!r}: expected (on, off) with '
                f'on >= 1 and off >= 0, for one of {list(train)}.'
            )
    cycles = {name: tuple(cycle) for name, cycle in cycles.items()}
    return Phase(
        start, iters, tuple(train), cycles, dict(cfg.get('copy') or {})
    )
