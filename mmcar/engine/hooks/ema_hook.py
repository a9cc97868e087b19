"""Moving average of one network's weights."""

from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmseg.registry import HOOKS
from torch import Tensor

from ...utils.errors import UserError
from ..checkpoints import check_resumed
from ..distributed import unwrap_model

MOST_MOMENTUM = 0.5
RAW = 'ema_state_dict'  # raw weights in a checkpoint, as MMEngine names them


@HOOKS.register_module()
class NetworkEMAHook(Hook):
    """Averages the weights of one network; validation and test use them.

    The average moves only when the network's optimiser makes a step: not
    while gradients are accumulated, nor where a step is skipped or the
    network sits out. Checkpoints hold the
    average in ``state_dict``, ready to use, and the raw weights aside, for
    resuming.

    Args:
        network: Name of the network.
        momentum: Share of the new weights in each update of the average.
        begin: Number of the network's training iterations before which the
            average is a plain copy.
    """

    priority = 'NORMAL'

    def __init__(
        self,
        network: str = 'generator',
        momentum: float = 0.001,
        begin: int = 0,
    ) -> None:
        if not 0 < momentum <= MOST_MOMENTUM:
            raise UserError(
                f'NetworkEMAHook.momentum={momentum}: expected more than 0, '
                f'at most {MOST_MOMENTUM}. It is the share of the new '
                'weights: 0.001 for what others call a decay of 0.999.'
            )
        self.network, self.momentum, self.begin = network, momentum, begin
        self.average: dict[str, Tensor] | None = None
        self.stepped = False

    def before_run(self, runner: Runner) -> None:
        """Find the network; a test, whatever its generator, needs none."""
        if runner._train_loop is None:
            return
        trained = [*getattr(runner.optim_wrapper, 'keys', list)()]
        if self.network not in trained:
            raise UserError(
                f'NetworkEMAHook.network={self.network!r} is not trained: '
                f'optim_wrapper has optimisers of {trained}.'
            )
        model = unwrap_model(runner.model)
        network = model.networks()[self.network]
        path = next(p for p, m in model.named_modules() if m is network)
        self.prefix = f'{path}.'
        self.current = network.state_dict(keep_vars=True)

    def before_train(self, runner: Runner) -> None:
        """Start from the present weights, unless resumed."""
        optimizer = runner.optim_wrapper[self.network].optimizer
        optimizer.register_step_post_hook(self._note_step)
        if self.average is None:
            self.average = {
                key: tensor.detach().clone()
                for key, tensor in self.current.items()
            }

    def _note_step(self, *_: Any) -> None:
        self.stepped = True

    @torch.no_grad()
    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Move the average if the network was updated."""
        if not self.stepped:
            return
        self.stepped = False
        schedule = runner.train_loop.schedule
        updates = schedule.num_updates(self.network, runner.iter)
        momentum = self.momentum if updates >= self.begin else 1.0
        for key, average in (self.average or {}).items():
            new = self.current[key].detach()
            # Statistics of a norm are averages already: keep the latest.
            if isinstance(self.current[key], torch.nn.Parameter):
                average.lerp_(new, momentum)
            else:
                average.copy_(new)

    @torch.no_grad()
    def before_val_epoch(
        self, runner: Runner, metrics: dict[str, float] | None = None
    ) -> None:
        """Use the average while validating and testing; then return."""
        # Without training, a checkpoint's average is in place already.
        for key, average in (self.average or {}).items():
            kept = average.clone()
            average.copy_(self.current[key])
            self.current[key].copy_(kept)

    after_val_epoch = before_test_epoch = after_test_epoch = before_val_epoch

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Save the average as the network, the raw weights aside."""
        if self.average is None:
            return
        raw = checkpoint.setdefault(RAW, {})
        for key, average in self.average.items():
            name = self.prefix + key
            raw[name] = checkpoint['state_dict'][name]
            checkpoint['state_dict'][name] = average.cpu()

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Take average and raw weights apart again when resuming."""
        if not runner._resume or RAW not in checkpoint:
            return
        check_resumed(runner, checkpoint)
        state, raw, self.average = (
            checkpoint['state_dict'],
            checkpoint[RAW],
            {},
        )
        for key, current in self.current.items():
            name = self.prefix + key
            self.average[key] = state[name].to(current.device, copy=True)
            state[name] = raw[name]
