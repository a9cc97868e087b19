"""What a training shows: a bar in the place of log lines, and an ETA."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from mmengine.dist import is_main_process
from mmengine.hooks import Hook, IterTimerHook
from mmengine.runner import EpochBasedTrainLoop, Runner
from mmseg.registry import HOOKS

from ..utils.checks import at_least
from ..utils.progress import ProgressBar
from .alternating_loop import AlternatingTrainLoop
from .schedule import Schedule

WINDOW = 100  # iterations of a kind over which its cost is averaged
SMOOTH = 20  # iterations over which a loss is averaged


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
        self.measured: dict[tuple, deque[float]] = {}
        # Seconds that one step of each phase took, on one batch, when tried.
        self.tried: dict[int, float] = {}

    def kind(self, iteration: int) -> tuple:
        """Those cost the same of one phase, with the same networks."""
        phase = self.schedule.phase_of(iteration)
        return phase, *self.schedule.active(iteration)

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

    def _cost(self, kind: tuple) -> float:
        if kind in self.measured:
            return fmean(self.measured[kind])
        phases: dict[int, list[float]] = {}
        for other, costs in self.measured.items():
            phases.setdefault(other[0], []).append(fmean(costs))
        nearest = kind[0] if kind[0] in phases else max(phases, default=0)
        tried = self.tried.get(kind[0], 1), self.tried.get(nearest, 1)
        ratio = tried[0] / tried[1] if len(self.tried) > 1 else 1.0
        return fmean(phases.get(nearest, [0.0])) * ratio


def validations(runner: Runner, done: int = 0) -> int:
    """How often a training validates after so many steps, or epochs."""
    loop = runner.train_loop
    by_epoch = isinstance(loop, EpochBasedTrainLoop)
    end = loop.max_epochs if by_epoch else loop.max_iters
    at_least(1, **{'train_cfg.val_interval': loop.val_interval})
    due = {*range(loop.val_interval, end + 1, loop.val_interval), end}
    return sum(step >= max(loop.val_begin, done + 1) for step in due)


@HOOKS.register_module()
class PhaseTimerHook(IterTimerHook):
    """MMEngine's timer, with an ETA that knows the phases.

    Iterations that train G cost more than those that train F: a mean over
    the past says little about what is left. Validations count as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left: RemainingTime | None = None
        self.val_seconds = 0.0
        self._val_start = 0.0

    def before_train(self, runner: Runner) -> None:
        """Count what is left, of each kind."""
        super().before_train(runner)
        loop = runner.train_loop
        if isinstance(loop, AlternatingTrainLoop):
            self.left = RemainingTime(loop.schedule, runner.iter)

    def before_val(self, runner: Runner) -> None:
        """Look at the clock."""
        self._val_start = time.monotonic()

    def after_val(self, runner: Runner) -> None:
        """Note how long a validation takes."""
        self.val_seconds = time.monotonic() - self._val_start

    def after_train_iter(
        self, runner: Runner, batch_idx: int, **kwargs: Any
    ) -> None:
        """Put the ETA where logs find it."""
        super().after_train_iter(runner, batch_idx, **kwargs)
        if self.left is None:
            return
        hub = runner.message_hub
        self.left.measure(runner.iter, hub.get_scalar('train/time').current())
        scoring = validations(runner, runner.iter) * self.val_seconds
        hub.update_info('eta', self.left.seconds() + scoring)


class ProgressHook(Hook):
    """Shows a bar per phase, validation and test, on the main process.

    The ETA is the one that the timer hook leaves for the logs: of the whole
    training.
    """

    priority = 'VERY_LOW'  # after the timer and the logs

    def __init__(self) -> None:
        self.bar: ProgressBar | None = None
        self.paused: ProgressBar | None = None
        self.first = 0  # iteration at which the phase of the bar begins

    def before_train(self, runner: Runner) -> None:
        """Say what begins, and where to read more about it."""
        if not is_main_process():
            return
        log = getattr(runner.logger, 'log_file', None)
        at = f' from step {runner.iter} ({runner._load_from})'
        at = at if runner.iter else ''
        log = f'; log: {log}' if log else ''
        print(f'Training {runner.max_iters} steps{at}{log}', flush=True)

    def after_train_iter(
        self, runner: Runner, batch_idx: int, **kwargs: Any
    ) -> None:
        """Move the bar; at the end of a phase, close it."""
        if self.bar is None:
            loop = runner.train_loop
            title, total = 'training', runner.max_iters
            if isinstance(loop, AlternatingTrainLoop):
                phase = loop.schedule.phases[
                    loop.schedule.phase_of(runner.iter)
                ]
                title, total = ' + '.join(phase.train), phase.iters
                self.first = phase.start
            self.bar = ProgressBar(title, total, runner.iter - self.first)
        done = runner.iter + 1 - self.first
        hub = runner.message_hub
        losses = {
            key.removeprefix('train/'): buffer.mean(SMOOTH)
            for key, buffer in hub.log_scalars.items()
            if key.startswith('train/loss')
        }
        eta = hub.runtime_info.get('eta')
        self.bar.update(done, listed(losses), eta)
        if done == self.bar.total:
            self.after_train(runner)

    def before_val_epoch(self, runner: Runner) -> None:
        """Give the place to the validation."""
        self.paused = self.bar
        if self.paused is not None:
            self.paused.pause()
        self.bar = ProgressBar('validation', len(runner.val_dataloader))

    def before_test_epoch(self, runner: Runner) -> None:
        """Begin the test."""
        self.bar = ProgressBar('test', len(runner.test_dataloader))

    def after_val_iter(
        self, runner: Runner, batch_idx: int, **kwargs: Any
    ) -> None:
        """Move the bar of a validation or test."""
        if self.bar is not None:
            self.bar.advance()

    after_test_iter = after_val_iter

    def after_val_epoch(
        self, runner: Runner, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Leave the scores in a line, and let the training go on."""
        if self.bar is not None:
            self.bar.note = listed(metrics or {})
        self.after_train(runner)
        self.bar, self.paused = self.paused, None
        if self.bar is not None:
            self.bar.resume()

    def after_train(
        self, runner: Runner, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Close the bar of a test, or of a training that ended early."""
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    after_test_epoch = after_train


def listed(numbers: Mapping[str, float]) -> str:
    """Numbers with their names, short enough for a line."""
    return ' '.join(
        f'{name} {value:.3g}'
        for name, value in numbers.items()
        if not name.endswith('_left_out') and 'time' not in name
    )
