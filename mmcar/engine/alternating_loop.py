"""Training in phases, with networks that take turns."""

import warnings
from collections.abc import Mapping, Sequence

import torch
from mmengine.dist import all_reduce, broadcast_object_list
from mmengine.optim import OptimWrapper
from mmengine.runner import IterBasedTrainLoop, Runner
from mmseg.registry import LOOPS
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from ..models.segmentors.training import norm_statistics
from ..utils.checks import at_least
from ..utils.errors import UserError
from .distributed import unwrap_model
from .optimizers import (
    NoUpdate,
    check_optimizers,
    follow_phases,
    place_schedulers,
)
from .resumable_data import (
    ITERATION,
    VALIDATION,
    ResumableDataLoader,
    resumable_config,
    seed_all,
)
from .schedule import Phase, Schedule

ACCURACY = 'discriminator_accuracy'  # its key in the message hub


@LOOPS.register_module()
class AlternatingTrainLoop(IterBasedTrainLoop):
    """Hands the model the optimisers of the networks that train now.

    Everything follows from the iteration number: which networks train, which
    images are drawn, how they are augmented and what the random numbers are.
    A resumed run therefore equals one that never stopped. To that end the
    sampler of ``train_dataloader`` (``InfiniteSampler``, ``DefaultSampler``)
    is replaced by a :class:`ResumableSampler` with the same ``shuffle``, and
    its dataset is wrapped in a :class:`SeededDataset`.

    Parameter schedulers with ``begin='phase'`` count from the first iteration
    of the first phase that trains their network, and with ``end='phase'`` to
    the last of the last one.

    Args:
        runner: The runner.
        dataloader: Config of the training data loader.
        phases: See :class:`Schedule`.
        val_begin: First iteration after which to validate.
        val_interval: Iterations between validations.
        dynamic_intervals: ``(milestone, interval)`` pairs, as in MMEngine.
        max_discriminator_accuracy: While D was right about more than this
            share of its last batch, D is evaluated but not updated. None, the
            default: D is always updated.
    """

    def __init__(
        self,
        runner: Runner,
        dataloader: dict,
        phases: Sequence[Mapping],
        val_begin: int = 1,
        val_interval: int = 1000,
        dynamic_intervals: list[tuple[int, int]] | None = None,
        max_discriminator_accuracy: float | None = None,
    ) -> None:
        at_least(1, val_interval=val_interval)
        cap = max_discriminator_accuracy
        if cap is not None and not 0 <= cap <= 1:
            raise UserError(f'max_discriminator_accuracy={cap}: not 0 to 1.')
        if isinstance(runner.model, (DistributedDataParallel, DataParallel)):
            raise UserError(
                f'{type(runner.model).__name__} fails when a network sits an '
                'step out: set model_wrapper_cfg='
                "dict(type='NetworkwiseDistributedDataParallel')."
            )
        self.schedule = Schedule(phases)
        self.max_discriminator_accuracy = cap
        networks = unwrap_model(runner.model).networks()
        self.schedule.validate(networks)
        for phase in self.schedule.phases:
            check_copies(networks, phase)
        self.placed_schedulers = runner.param_schedulers = place_schedulers(
            runner.param_schedulers, self.schedule, networks
        )
        loader = runner.build_dataloader(
            resumable_config(dataloader), seed=runner.seed
        )
        super().__init__(
            runner,
            ResumableDataLoader(loader),
            self.schedule.max_iters,
            val_begin,
            val_interval,
            dynamic_intervals,
        )

    def run(self) -> nn.Module:
        """Train from the current iteration to the last.

        Unlike the base class, this does not draw and drop the batches of
        earlier iterations: the data loader starts at the right one.
        """
        runner, schedule = self.runner, self.schedule
        networks = unwrap_model(runner.model).networks()
        for name, network in networks.items():
            # Steps do not look at those of networks that rest.
            if not all(s.isfinite().all() for s in norm_statistics([network])):
                raise UserError(
                    f'{name} has running statistics that are not finite: a '
                    'training went wrong. Load other weights.'
                )
        check_optimizers(
            runner.optim_wrapper, schedule, self.max_discriminator_accuracy
        )
        for name, optim in runner.optim_wrapper.items():
            optim.initialize_count_status(
                networks[name],
                schedule.num_updates(name, self._iter),
                schedule.num_updates(name, self._max_iters),
            )
        # Schedulers step at every iteration, also before the first update of
        # a network whose phase comes later; torch suspects a mistake there.
        warnings.filterwarnings('ignore', 'Detected call of `scheduler.step')
        follow_phases(runner, self.placed_schedulers)
        seed = [runner.seed]
        broadcast_object_list(seed)  # processes may have been seeded apart
        self.seed = seed[0]
        runner.message_hub.update_info('seed', self.seed)
        self.dataloader.start_at(self._iter, self.seed)

        runner.call_hook('before_train')
        runner.call_hook('before_train_epoch')
        if self._iter and self._validates_now():
            # Checkpoints are written before the validation of the same
            # iteration: none of them knows its scores.
            self._validate()
        while self._iter < self._max_iters and not self.stop_training:
            # Only after a validation, or a hook: it walks through all parts.
            if not unwrap_model(runner.model).training:
                runner.model.train()
            self.run_iter(next(self.dataloader_iterator))
            if self._validates_now():
                self._validate()
        runner.call_hook('after_train_epoch')
        runner.call_hook('after_train')
        return runner.model

    def _validates_now(self) -> bool:
        """Whether a validation follows the iteration before this one."""
        self._decide_current_val_interval()
        if self.runner.val_loop is None or self._iter < self.val_begin:
            return False
        due = self._iter % self.val_interval == 0
        return due or self._iter == self._max_iters

    def _validate(self) -> None:
        """Score the model as it would be scored after a resume, too."""
        seed_all(VALIDATION, self.seed, self._iter, self.runner.rank)
        self.runner.val_loop.run()

    def run_iter(self, data_batch: dict) -> None:
        """Train the active networks on one batch."""
        runner = self.runner
        runner.call_hook(
            'before_train_iter', batch_idx=self._iter, data_batch=data_batch
        )
        for phase in self.schedule.phases:
            if phase.start == self._iter:
                # Losses of the phase before would be logged on and on.
                scalars = runner.message_hub.log_scalars
                for key in [k for k in scalars if k.startswith('train/loss')]:
                    del scalars[key]
                networks = unwrap_model(runner.model).networks()
                for target, source in phase.copy.items():
                    weights = find_part(networks, source).state_dict()
                    find_part(networks, target).load_state_dict(weights)
        seed_all(ITERATION, self.seed, self._iter, runner.rank)
        outputs = runner.model.train_step(
            data_batch, optim_wrapper=self.active_optimizers()
        )
        cap = self.max_discriminator_accuracy
        if cap is not None and 'd_acc' in outputs:
            accuracy = torch.tensor(outputs['d_acc'])
            all_reduce(accuracy, op='mean')  # ranks must agree
            runner.message_hub.update_info(ACCURACY, float(accuracy))
        runner.call_hook(
            'after_train_iter',
            batch_idx=self._iter,
            data_batch=data_batch,
            outputs=outputs,
        )
        self._iter += 1

    def active_optimizers(self) -> dict[str, OptimWrapper | NoUpdate]:
        """Optimisers of the networks that train at this iteration."""
        optims = {
            name: self.runner.optim_wrapper[name]
            for name in self.schedule.active(self._iter)
        }
        cap = self.max_discriminator_accuracy
        accuracy = self.runner.message_hub.runtime_info.get(ACCURACY, 0.0)
        if cap is not None and accuracy > cap and 'discriminator' in optims:
            optims['discriminator'] = NoUpdate()
        return optims


def check_copies(networks: Mapping[str, nn.Module], phase: Phase) -> None:
    """Refuse parts that do not exist or differ in shape, before training."""
    for target, source in phase.copy.items():
        parts = (find_part(networks, path) for path in (target, source))
        states = (part.state_dict().items() for part in parts)
        one, other = ({k: w.shape for k, w in state} for state in states)
        if one != other:
            raise UserError(
                f'train_cfg.phases: copy={phase.copy}: the weights of '
                f'{source} do not fit {target}: give both the same config.'
            )


def find_part(networks: Mapping[str, nn.Module], path: str) -> nn.Module:
    """A network by its name, or a part of one: ``'generator.net'``."""
    name, _, rest = path.partition('.')
    try:
        return networks[name].get_submodule(rest)
    except (KeyError, AttributeError):
        raise UserError(
            f'train_cfg.phases: copy names {path!r}: expected a part of one '
            f'of {list(networks)}.'
        ) from None
