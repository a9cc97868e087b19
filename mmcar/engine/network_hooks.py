"""Hooks of single networks: averaged weights, and R1 for D."""

import functools
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmseg.registry import HOOKS
from torch import Tensor, nn

from ..utils.checks import at_least, not_negative, one_of
from ..utils.errors import UserError
from ..utils.precision import full_precision
from .checkpoints import check_resumed
from .distributed import unwrap_model

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
                f'momentum={momentum}: expected more than 0, at most '
                f'{MOST_MOMENTUM}; 0.001 is what others call a decay of 0.999.'
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
                f'NetworkEMAHook.network={self.network!r}: expected one of '
                f'{trained}, which optim_wrapper trains.'
            )
        model = unwrap_model(runner.model)
        network = model.networks()[self.network]
        path = next(p for p, m in model.named_modules() if m is network)
        self.prefix = f'{path}.'
        self.current = network.state_dict(keep_vars=True)

    def before_train(self, runner: Runner) -> None:
        """Start from the present weights, unless resumed."""
        optimizer = runner.optim_wrapper[self.network].optimizer
        optimizer.register_step_post_hook(
            lambda *_: setattr(self, 'stepped', True)
        )
        if self.average is None:
            state = self.current.items()
            self.average = {key: w.detach().clone() for key, w in state}

    @torch.no_grad()
    def after_train_iter(
        self, runner: Runner, batch_idx: int, **kwargs: Any
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
        state, raw = checkpoint['state_dict'], checkpoint[RAW]
        self.average = {}
        for key, current in self.current.items():
            name = self.prefix + key
            self.average[key] = state[name].to(current.device, copy=True)
            state[name] = raw[name]


OUTPUTS = ('logit', 'probability')


def r1_penalty(
    discriminator: nn.Module,
    image: Tensor,
    real: Tensor,
    mask: Tensor | None = None,
    output: str = 'logit',
) -> Tensor:
    """Mean squared norm of the gradient of D's output at real inputs.

    Args:
        discriminator: D.
        image: Images (B, C, H, W).
        real: One-hot label maps (B, K, H, W).
        mask: 1 where the labels are known (B, 1, H, W); None for all.
        output: 'logit' or 'probability', see :class:`R1Hook`.

    Returns:
        Scalar: mean over the batch of ``||d D(x, y) / d (x, y)||^2``. D's
        input is image *and* label map, and so is what the gradient is taken
        with respect to. The outputs of a patch discriminator are summed.
    """
    one_of(OUTPUTS, output=output)
    with full_precision(image), torch.enable_grad():
        inputs = [
            tensor.detach().float().requires_grad_(True)
            for tensor in (image, real)
        ]
        judged = discriminator(*inputs, mask)
        if output == 'probability':
            judged = judged.sigmoid()
        grads = torch.autograd.grad(judged.sum(), inputs, create_graph=True)
        squares = [grad.square().flatten(1).sum(dim=1) for grad in grads]
        return torch.stack(squares).sum(0).mean()


@HOOKS.register_module()
class R1Hook(Hook):
    """Adds ``weight * r1_penalty`` to D's loss.

    The weight multiplies the squared norm itself, as in the authors' code;
    papers that write ``gamma / 2`` have ``gamma = 2 * weight``.

    Args:
        weight: Weight of the penalty.
        interval: Lazy regularisation: the penalty is computed at every
            ``interval``-th update of D only, ``interval`` times as heavy.
        output: What the gradient is taken of: D's 'logit', as R1 was
            proposed, or its 'probability', as in the authors' code. With p
            for the probability the latter is (p (1 - p))^2 times the former:
            16 times weaker where D is undecided, 600 times at p = 0.957.
    """

    def __init__(
        self, weight: float = 10.0, interval: int = 1, output: str = 'logit'
    ) -> None:
        not_negative(**{'R1Hook.weight': weight})
        at_least(1, **{'R1Hook.interval': interval})
        one_of(OUTPUTS, output=output)
        self.weight = weight
        self.interval = interval
        self.output = output

    def before_train(self, runner: Runner) -> None:
        """Offer the penalty to the model."""
        self._regularizer = functools.partial(self._regularize, runner)
        model = unwrap_model(runner.model)
        model.discriminator_regularizers.append(self._regularizer)

    def after_train(self, runner: Runner) -> None:
        """Take the penalty back."""
        model = unwrap_model(runner.model)
        model.discriminator_regularizers.remove(self._regularizer)

    def _regularize(
        self,
        runner: Runner,
        discriminator: nn.Module,
        image: Tensor,
        real: Tensor,
        mask: Tensor,
    ) -> dict[str, Tensor]:
        # Counted by the schedule, not by a counter, so that a resumed run
        # regularises the same updates.
        schedule = runner.train_loop.schedule
        if schedule.num_updates('discriminator', runner.iter) % self.interval:
            return {}
        penalty = r1_penalty(discriminator, image, real, mask, self.output)
        return dict(loss_r1=self.weight * self.interval * penalty)
