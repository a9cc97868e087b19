"""Training for a given processor time."""

import math
import time

from mmengine.dist import broadcast_object_list
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner
from mmseg.registry import HOOKS

from ...utils.checks import one_of, positive

SPENT = 'processor_seconds'  # its key in the message hub


@HOOKS.register_module()
class ProcessorBudgetHook(Hook):
    """Ends training after so many seconds of processor time.

    For comparisons on equal terms: processor time does not depend on what
    else runs, iterations of different methods cost different time. Seconds of
    all threads of this process count, from the first iteration on; a resumed
    run goes on counting. The last iteration is saved and validated as if the
    schedule ended there. Of several processes, the first one's time counts.

    Args:
        seconds: The budget.
        decay: How learning rates fall with the share of the budget that is
            spent: ``'cosine'`` to zero, or ``'none'``.
    """

    priority = 'NORMAL'

    def __init__(self, seconds: float, decay: str = 'cosine') -> None:
        positive(**{'ProcessorBudgetHook.seconds': seconds})
        one_of(('cosine', 'none'), **{'ProcessorBudgetHook.decay': decay})
        self.seconds = seconds
        self.decay = decay
        self.last: float | None = None

    def before_train(self, runner: Runner) -> None:
        """Leave nothing to do where the budget is spent."""
        if self._spent(runner) >= self.seconds:
            runner.train_loop._max_iters = runner.iter

    def before_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None
    ) -> None:
        """Set the learning rates."""
        if self.last is None:
            self.last = time.process_time()
        if self.decay == 'none':
            return
        share = min(self._spent(runner) / self.seconds, 1.0)
        factor = 0.5 * (1 + math.cos(math.pi * share))
        for group in _groups(runner.optim_wrapper):
            group.setdefault('initial_lr', group['lr'])
            group['lr'] = factor * group['initial_lr']

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Count, and make this iteration the last if the budget is spent."""
        now = time.process_time()
        assert self.last is not None  # set before the first iteration
        spent = [self._spent(runner) + now - self.last]
        self.last = now
        broadcast_object_list(spent)
        runner.message_hub.update_info(SPENT, spent[0])
        if spent[0] >= self.seconds:
            runner.train_loop._max_iters = runner.iter + 1

    def _spent(self, runner: Runner) -> float:
        """Seconds so far, of interrupted runs too."""
        return float(runner.message_hub.runtime_info.get(SPENT, 0.0))


def _groups(optims: OptimWrapper) -> list[dict]:
    """Parameter groups of every optimiser."""
    if isinstance(optims, OptimWrapperDict):
        return [g for optim in optims.values() for g in optim.param_groups]
    return list(optims.param_groups)
