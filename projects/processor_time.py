"""Processor time of trainings: counted, or given as a budget.

For the projects, which compare trainings on shared CPUs. A config finds these
hooks where ``custom_imports`` has ``projects.processor_time``.
"""

import math
import time
from typing import Any

from mmengine.dist import broadcast_object_list
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner
from mmseg.registry import HOOKS

from mmcar.utils.checks import one_of, positive

MINUTES = 'processor_minutes'  # its key in the log and in the message hub


@HOOKS.register_module()
class ProcessorTimeHook(Hook):
    """Logs the minutes of processor time that all iterations took so far.

    Unlike time on the clock, they do not depend on what else runs, so curves
    of runs on a shared CPU can be compared. Validation does not count; a
    resumed run goes on counting. Only this process counts, of several the
    first one: set the training loader's ``num_workers=0`` for data loading
    to be in it.

    Attributes:
        spent: Seconds that they took so far.
    """

    priority = 'VERY_HIGH'  # before what it measures is logged or saved

    def before_train(self, runner: Runner) -> None:
        """Go on from what the checkpoint says, if any."""
        found = runner.message_hub.runtime_info.get(MINUTES, 0.0)
        self.spent = 60 * float(found)
        self._mark = time.process_time()

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Count all since the last iteration."""
        now = time.process_time()
        spent = [self.spent + now - self._mark]
        self._mark = now
        broadcast_object_list(spent)
        self.spent = spent[0]
        hub = runner.message_hub
        hub.update_info(MINUTES, self.spent / 60)
        hub.update_scalar(f'train/{MINUTES}', self.spent / 60)

    def after_val(self, runner: Runner) -> None:
        """Leave the validation out."""
        self._mark = time.process_time()


@HOOKS.register_module()
class ProcessorBudgetHook(ProcessorTimeHook):
    """Ends training after so many seconds of processor time.

    For comparisons on equal terms: processor time does not depend on what
    else runs, iterations of different methods cost different time. What
    counts, and is logged, is what :class:`ProcessorTimeHook` counts. The last
    iteration is saved and validated as if the schedule ended there.

    Args:
        seconds: The budget.
        decay: How learning rates fall with the share of the budget that is
            spent: ``'cosine'`` to zero, or ``'none'``.
    """

    def __init__(self, seconds: float, decay: str = 'cosine') -> None:
        positive(**{'ProcessorBudgetHook.seconds': seconds})
        one_of(('cosine', 'none'), **{'ProcessorBudgetHook.decay': decay})
        self.seconds = seconds
        self.decay = decay

    def before_train(self, runner: Runner) -> None:
        """Leave nothing to do where the budget is spent."""
        super().before_train(runner)
        if self.share >= 1:
            runner.train_loop._max_iters = runner.iter

    def before_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None
    ) -> None:
        """Set the learning rates."""
        if self.decay == 'none':
            return
        factor = 0.5 * (1 + math.cos(math.pi * min(self.share, 1.0)))
        for group in _groups(runner.optim_wrapper):
            group.setdefault('initial_lr', group['lr'])
            group['lr'] = factor * group['initial_lr']

    def after_train_iter(self, runner: Runner, *args: Any, **kw: Any) -> None:
        """Count, and make this iteration the last if the budget is spent."""
        super().after_train_iter(runner, *args, **kw)
        if self.share >= 1:
            runner.train_loop._max_iters = runner.iter + 1

    @property
    def share(self) -> float:
        """The part of the budget that is spent."""
        return self.spent / self.seconds


def _groups(optims: OptimWrapper) -> list[dict]:
    """Parameter groups of every optimiser."""
    if isinstance(optims, OptimWrapperDict):
        return [g for optim in optims.values() for g in optim.param_groups]
    return list(optims.param_groups)
