"""A bar in the place of log lines."""

from collections.abc import Mapping
from typing import Any

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner

from ...utils.progress import ProgressBar
from ..loops import AlternatingTrainLoop

SMOOTH = 20
"""Iterations over which a loss is averaged."""


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
        at = ''
        if runner.iter:
            at = f' from iteration {runner.iter} ({runner._load_from})'
        log = f'; log: {log}' if log else ''
        print(f'Training {runner.max_iters} iterations{at}{log}', flush=True)

    def after_train_iter(
        self, runner: Runner, batch_idx: int, **kwargs: Any
    ) -> None:
        """Move the bar; at the end of a phase, close it."""
        if self.bar is None:
            self.first, title, total = stage(runner)
            done = runner.iter - self.first
            self.bar = ProgressBar(title, total, done)
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


def stage(runner: Runner) -> tuple[int, str, int]:
    """First iteration, name and length of what is trained now."""
    loop = runner.train_loop
    if not isinstance(loop, AlternatingTrainLoop):
        return 0, 'training', runner.max_iters
    phase = loop.schedule.phases[loop.schedule.phase_of(runner.iter)]
    return phase.start, ' + '.join(phase.train), phase.iters


def listed(numbers: Mapping[str, float]) -> str:
    """Numbers with their names, short enough for a line."""
    return ' '.join(
        f'{name} {value:.3g}'
        for name, value in numbers.items()
        if not name.endswith('_left_out') and 'time' not in name
    )
