"""Training for a given processor time."""

import math
from typing import Any

from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner
from mmseg.registry import HOOKS

from ...utils.checks import one_of, positive
from .processor_time_hook import ProcessorTimeHook


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
