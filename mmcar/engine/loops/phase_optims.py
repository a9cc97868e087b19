"""Optimisers and schedulers that fit the phases of a training."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from mmengine.optim import OptimWrapper, OptimWrapperDict
from torch import Tensor, nn

from ...utils.errors import UserError
from .schedule import Schedule


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
    optimised, trained = set(optim_wrapper.keys()), schedule.networks
    for name in trained:
        if name not in optimised:
            raise UserError(
                f'the phases train {name!r}, but optim_wrapper has no '
                f'optimiser for it: add optim_wrapper.{name}.'
            )
    for name in sorted(optimised - set(trained)):
        raise UserError(
            f'optim_wrapper.{name} is given, but no phase trains {name!r} '
            f'(they train {list(trained)}): remove it or add a phase.'
        )
    for name, optim in optim_wrapper.items():
        _check_accumulation(name, optim._accumulative_counts, schedule, cap)


def _check_accumulation(
    name: str, counts: int, schedule: Schedule, cap: float | None
) -> None:
    """Refuse accumulation across a rest or a change of phase."""
    key = f'optim_wrapper.{name}.accumulative_counts={counts}'
    for index, phase in enumerate(schedule.phases):
        on = phase.cycles.get(name, (counts, 0))[0]
        updates = phase.num_updates(name, phase.iters)
        if on % counts or updates % counts:
            raise UserError(
                f'{key} divides neither evenly: in phases[{index}] '
                f'{name!r} trains {updates} iterations, {on} in a row.'
            )
    if counts > 1 and cap is not None and name == 'discriminator':
        raise UserError(
            f'{key} does not go with max_discriminator_accuracy={cap}: '
            'choose one.'
        )


class PausedOptim:
    """Stands in for an optimiser whose network is evaluated, not trained."""

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Nothing computed here needs gradients."""
        with torch.no_grad():
            yield

    def update_params(self, loss: Tensor) -> None:
        """Leave the parameters as they are."""


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
    for name in configs:
        if name not in schedule.networks:
            raise UserError(
                f'param_scheduler.{name} is given, but the phases train '
                f'{list(schedule.networks)} only.'
            )
    return {name: [] for name in networks} | {
        name: _place(name, configs.get(name, []), schedule)
        if schedule.num_updates(name, schedule.max_iters)
        else []  # of a skipped phase
        for name in schedule.networks
    }


def _place(name: str, configs: Mapping | Sequence, schedule: Schedule) -> list:
    span = dict(begin=schedule.first_iter(name), end=schedule.last_iter(name))
    configs = configs if isinstance(configs, Sequence) else [configs]
    placed = []
    for cfg in configs:
        if not isinstance(cfg, Mapping):
            placed.append(cfg)  # a scheduler that has been built
            continue
        changes = {k: v for k, v in span.items() if cfg.get(k) == 'phase'}
        in_phase = 'begin' in changes
        if cfg.get('by_epoch', not in_phase):
            raise UserError(
                f'param_scheduler.{name}={dict(cfg)!r} counts epochs, as is '
                "MMEngine's default, but this training has none, so it would "
                'never step: set by_epoch=False.'
            )
        placed.append(dict(cfg, by_epoch=False, **changes))
    return placed
