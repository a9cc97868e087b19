"""One optimiser per network, and schedulers that fit the phases."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.optim import OptimWrapper, OptimWrapperDict, build_optim_wrapper
from mmengine.runner import Runner
from mmseg.registry import OPTIM_WRAPPER_CONSTRUCTORS
from torch import Tensor, nn

from ..utils.errors import UserError
from .distributed import unwrap_model
from .schedule import Schedule


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class NetworkOptimWrapperConstructor:
    """Builds an ``OptimWrapperDict`` with a wrapper for each named network.

    Each value is a usual ``optim_wrapper`` config: ``optimizer``, and where
    wanted ``type``, ``paramwise_cfg``, ``clip_grad``, ``accumulative_counts``.

    Args:
        optim_wrapper_cfg: Network name -> config of its optimiser wrapper;
            None takes away the one of a base config.
        paramwise_cfg: Must be None; it belongs into a network's config.

    Example:
        >>> optim_wrapper = dict(
        ...     constructor='NetworkOptimWrapperConstructor',
        ...     generator=dict(optimizer=dict(type='Adam', lr=2e-4)),
        ...     discriminator=dict(optimizer=dict(type='Adam', lr=1e-5)))
    """

    def __init__(
        self, optim_wrapper_cfg: dict, paramwise_cfg: dict | None = None
    ) -> None:
        if paramwise_cfg is not None:
            raise UserError(
                f'optim_wrapper.paramwise_cfg={paramwise_cfg!r}: put it into '
                'a network, e.g. optim_wrapper.generator.paramwise_cfg.'
            )
        given = optim_wrapper_cfg.items()
        self.cfg = {name: cfg for name, cfg in given if cfg is not None}

    def __call__(self, model: nn.Module) -> OptimWrapperDict:
        """Build the wrappers for a model with ``networks()``."""
        networks = unwrap_model(model).networks()
        for name, cfg in self.cfg.items():
            if name not in networks:
                raise UserError(
                    f'optim_wrapper.{name}={cfg!r}: expected one of '
                    f'{list(networks)}. What a base config leaves goes away '
                    'with optim_wrapper=dict(_delete_=True, ...).'
                )
            if not isinstance(cfg, dict) or 'optimizer' not in cfg:
                raise UserError(
                    f'optim_wrapper.{name} must be a dict with the key '
                    f"'optimizer', got {cfg!r}."
                )
            keys = (cfg.get('paramwise_cfg') or {}).get('custom_keys') or {}
            own = [weight for weight, _ in networks[name].named_parameters()]
            if keys and not any(k in weight for k in keys for weight in own):
                raise UserError(
                    f'optim_wrapper.{name}.paramwise_cfg.custom_keys={keys}: '
                    f'no parameter is called so; the first is {own[:1]}.'
                )
        built = {
            n: build_optim_wrapper(networks[n], self.cfg[n]) for n in self.cfg
        }
        return OptimWrapperDict(**built)


def check_optimizers(
    optim_wrapper: OptimWrapper, schedule: Schedule, cap: float | None
) -> None:
    """Refuse optimisers that do not fit the phases.

    Args:
        optim_wrapper: One optimiser per network.
        schedule: The phases.
        cap: ``max_discriminator_accuracy`` of the loop.
    """
    if not isinstance(optim_wrapper, OptimWrapperDict):
        raise UserError(
            'optim_wrapper must hold one optimiser per network: set '
            "optim_wrapper.constructor='NetworkOptimWrapperConstructor'."
        )
    for name in sorted({*optim_wrapper.keys()} ^ {*schedule.networks}):
        raise UserError(
            f'optim_wrapper.{name}: expected an optimiser of each of '
            f'{list(schedule.networks)}, which the phases train, and no other.'
        )
    for name, optim in optim_wrapper.items():
        counts = optim._accumulative_counts
        key = f'optim_wrapper.{name}.accumulative_counts={counts}'
        for index, phase in enumerate(schedule.phases):
            on = phase.cycles.get(name, (counts, 0))[0]
            updates = phase.num_updates(name, phase.iters)
            if on % counts or updates % counts:
                raise UserError(
                    f'{key}: phases[{index}] trains {name!r} for {updates} '
                    f'steps, {on} in a row: expected multiples of {counts}.'
                )
        if counts > 1 and cap is not None and name == 'discriminator':
            raise UserError(f'{key}, but max_discriminator_accuracy={cap}.')


class NoUpdate:
    """Stands in for an optimiser whose network is evaluated, not trained.

    Args:
        backward: Whether gradients are computed all the same.
    """

    def __init__(self, backward: bool = False) -> None:
        self.backward = backward

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Compute with gradients only if they are wanted."""
        with torch.set_grad_enabled(self.backward):
            yield

    def update_params(self, loss: Tensor) -> None:
        """Leave the parameters as they are."""
        if self.backward:
            loss.backward()


def place_schedulers(
    configs: Mapping | Sequence | None,
    schedule: Schedule,
    networks: Iterable[str] = (),
) -> dict[str, list] | None:
    """Give each network its schedulers, with numbers for ``'phase'``.

    Args:
        configs: Schedulers of all networks, or by network.
        schedule: The phases.
        networks: All there are: one that no phase trains gets none.
    """
    if configs is None:
        return None
    if not isinstance(configs, Mapping) or 'type' in configs:
        configs = dict.fromkeys(schedule.networks, configs)
    placed: dict[str, list] = {name: [] for name in networks}
    for name, given in configs.items():
        if name not in schedule.networks:
            raise UserError(
                f'param_scheduler.{name}: not in {list(schedule.networks)}.'
            )
        if schedule.num_updates(name, schedule.max_iters):
            given = given if isinstance(given, Sequence) else [given]
            placed[name] = [_place(name, cfg, schedule) for cfg in given]
    return placed


def _place(name: str, cfg: Any, schedule: Schedule) -> Any:
    if not isinstance(cfg, Mapping):
        return cfg  # a scheduler that has been built
    span = dict(zip(('begin', 'end'), schedule.span(name), strict=True))
    changes = {k: v for k, v in span.items() if cfg.get(k) == 'phase'}
    if cfg.get('by_epoch', 'begin' not in changes):
        raise UserError(
            f'param_scheduler.{name}={dict(cfg)!r} counts epochs, but this '
            'training has none: set by_epoch=False.'
        )
    return dict(cfg, by_epoch=False, **changes)


def follow_phases(runner: Runner, placed: Any) -> None:
    """Let schedulers follow phases whose length changed before a resume.

    A checkpoint brings the old ones back. Where they begin or end elsewhere
    than the phases say, rates become those of a training that had these
    phases from its start.

    Args:
        runner: Its optimisers and schedulers are those of the checkpoint.
        placed: What `place_schedulers` gave.
    """
    moved = {}
    for name, schedulers in (runner.param_schedulers or {}).items():
        configs = placed[name]
        end, now = runner.max_iters, runner.iter
        given = [cfg for cfg in configs if isinstance(cfg, Mapping)]
        spans = [(c.get('begin', 0), c.get('end', end), now) for c in given]
        found = [(s.begin, s.end, s.last_step) for s in schedulers]
        if len(spans) < len(found) or spans == found:
            continue
        for scheduler in schedulers:
            if scheduler.param_name != 'lr':  # a momentum
                raise UserError(
                    f'param_scheduler.{name}: {type(scheduler).__name__} '
                    'cannot follow phases that changed since the checkpoint: '
                    'resume with the old ones, or start by load_from.'
                )
        moved[name] = configs
        for group in runner.optim_wrapper[name].param_groups:
            group['lr'] = group.get('initial_lr', group['lr'])
    if not moved:
        return
    names = runner.optim_wrapper.keys()
    built = runner.build_param_scheduler({n: moved.get(n, []) for n in names})
    for name in moved:
        for _ in range(runner.iter):
            for scheduler in built[name]:
                scheduler.step()
        runner.param_schedulers[name] = built[name]
