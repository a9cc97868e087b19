"""The ETA of a training in phases."""

import time
from typing import Any

from mmengine.hooks import IterTimerHook
from mmengine.runner import Runner
from mmseg.registry import HOOKS

from ..loops import AlternatingTrainLoop, RemainingTime


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
        hub, loop = runner.message_hub, runner.train_loop
        self.left.measure(runner.iter, hub.get_scalar('train/time').current())
        validations = loop.validations_left() * self.val_seconds
        hub.update_info('eta', self.left.seconds() + validations)
