"""How much processor time a training has taken."""

import time

from mmengine.dist import broadcast_object_list
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmseg.registry import HOOKS

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
