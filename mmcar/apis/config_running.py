"""Loops, hooks and schedulers that would not do what they say."""

from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config
from mmengine.optim import scheduler as schedulers
from mmengine.registry import MODELS as ROOT
from mmengine.runner import (
    EpochBasedTrainLoop,
    IterBasedTrainLoop,
    TestLoop,
    ValLoop,
)

from ..engine import AlternatingTrainLoop
from ..utils.errors import UserError
from .config_parts import Part, setting_of
from .config_schedule import check_schedule

SCHEDULER = 'param_scheduler'
#: Kinds of loops that are at work in another place.
FOREIGN_LOOPS = {
    'train_cfg': (ValLoop, TestLoop),
    'val_cfg': (TestLoop, EpochBasedTrainLoop, IterBasedTrainLoop),
    'test_cfg': (ValLoop, EpochBasedTrainLoop, IterBasedTrainLoop),
}
#: What a loop is built of.
NEEDED = {
    'train': ('train_dataloader', 'train_cfg', 'optim_wrapper'),
    'val': ('val_dataloader', 'val_cfg', 'val_evaluator'),
    'test': ('test_dataloader', 'test_cfg', 'test_evaluator'),
}
#: Schedulers that change from ``begin`` to ``end``, and MMEngine's ``end`` is
#: never by default.
SPANNING = (
    schedulers.CosineAnnealingParamScheduler,
    schedulers.LinearParamScheduler,
    schedulers.PolyParamScheduler,
)


def check_running(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse loops, hooks and schedulers that would do nothing, or another.

    Args:
        cfg: The config; its keys have been checked.
        parts: Its parts.

    Raises:
        UserError: Naming the key.
    """
    _check_scope(cfg)
    by_iterations = _counts_iterations(parts)
    for part in parts:
        _check_loop(part)
        _check_several(cfg, part)
        if part.section == SCHEDULER:
            _check_span(part)
            _check_phase(part, parts)
        if by_iterations:
            _check_epochs(part)
    check_schedule(cfg, parts)
    hooks = cfg.get('default_hooks') or {}
    if cfg.get('param_scheduler') and 'param_scheduler' in hooks:
        _check_stepping(hooks['param_scheduler'])


def check_complete(cfg: Config) -> None:
    """Refuse loops of which a part is missing, as MMEngine does.

    Args:
        cfg: The config.

    Raises:
        UserError: Naming what is missing.
    """
    for split, keys in NEEDED.items():
        missing = [key for key in keys if cfg.get(key) is None]
        if missing and len(missing) < len(keys):
            given = [key for key in keys if key not in missing]
            raise UserError(
                f'{" and ".join(missing)} missing or None, beside '
                f'{" and ".join(given)}: set all of them, or none.'
            )
        evaluator = cfg.get(f'{split}_evaluator')
        if isinstance(evaluator, (list, tuple)) and not evaluator:
            raise UserError(
                f'{split}_evaluator is empty: name at least one metric, or '
                f'set {", ".join(keys)} to None.'
            )


def _check_scope(cfg: Config) -> None:
    scope = cfg.get('default_scope') or 'mmseg'
    if scope != ROOT.scope and scope not in ROOT.children:
        known = ', '.join(sorted({ROOT.scope, *ROOT.children}))
        raise UserError(
            f'default_scope={scope!r} is not known: expected one of {known}.'
        )


def _check_several(cfg: Config, part: Part) -> None:
    """Refuse one optimiser for several networks, and the other way round."""
    wrapper = cfg.get('optim_wrapper')
    if part.path != 'train_cfg' or not isinstance(wrapper, Mapping):
        return
    several = [k for k, v in wrapper.items() if isinstance(v, Mapping)]
    alternates = part.is_a(AlternatingTrainLoop)
    if alternates and 'optimizer' in wrapper:
        raise UserError(
            'optim_wrapper.optimizer is one optimiser for all, but the phases '
            'of train_cfg train networks by name: give each its own, '
            "optim_wrapper=dict(constructor='NetworkOptimWrapperConstructor',"
            ' calibration=dict(optimizer=...), ...).'
        )
    stock = part.is_a((EpochBasedTrainLoop, IterBasedTrainLoop))
    if 'optimizer' not in wrapper and several and stock and not alternates:
        raise UserError(
            f'train_cfg.type={part.cfg.get("type")!r} knows no phases, but '
            f'optim_wrapper has optimisers of {", ".join(several)}: use '
            "'AlternatingTrainLoop' with phases."
        )


def _check_loop(part: Part) -> None:
    if part.is_a(FOREIGN_LOOPS.get(part.path, ())):
        raise UserError(
            f'{part.path}.type={part.cfg["type"]!r} is no loop for '
            f'{part.path.removesuffix("_cfg")}.'
        )


def _counts_iterations(parts: Sequence[Part]) -> bool:
    """Whether the training counts iterations, not epochs."""
    for part in parts:
        if part.path == 'train_cfg':
            if isinstance(part.kind, type):
                return issubclass(part.kind, IterBasedTrainLoop)
            return part.cfg.get('by_epoch') is False
    return False


def _check_epochs(part: Part) -> None:
    """Refuse what waits for epochs in a training without any."""
    if part.path == 'log_processor':
        by_epoch = part.cfg.get('by_epoch')
    elif part.section in ('default_hooks', 'custom_hooks', SCHEDULER):
        by_epoch = setting_of(part, 'by_epoch')
    else:
        return
    # `AlternatingTrainLoop` counts from a phase by iterations.
    in_phase = part.cfg.get('begin') == 'phase' and 'by_epoch' not in part.cfg
    if in_phase or part.cfg.get('convert_to_iter_based'):
        return
    if by_epoch is True:
        raise UserError(
            f'{part.path}.by_epoch is True, here or by default, but this '
            'training counts iterations and has no epochs: set '
            'by_epoch=False.'
        )


def _check_span(part: Part) -> None:
    """Refuse a scheduler without an end, which would hardly move at all."""
    if not part.is_a(SPANNING):
        return
    if all(part.cfg.get(key) is None for key in ('end', 'T_max')):
        name = getattr(part.kind, '__name__', '')
        raise UserError(
            f'{part.path}.end is missing: {name} changes from begin '
            'to end, and without one it never gets anywhere.'
        )


def _check_phase(part: Part, parts: Sequence[Part]) -> None:
    """Refuse to count from a phase in a training that has none."""
    for loop in parts:
        kind = loop.kind if loop.path == 'train_cfg' else None
        if part.cfg.get('begin') != 'phase' or not isinstance(kind, type):
            continue
        if not issubclass(kind, AlternatingTrainLoop):
            raise UserError(
                f"{part.path}.begin='phase', but {kind.__name__} of train_cfg "
                'has no phases: set begin to a number, or use '
                'AlternatingTrainLoop.'
            )


def _check_stepping(hook: Any) -> None:
    if not isinstance(hook, Mapping):
        raise UserError(
            'default_hooks.param_scheduler is taken away, so that nothing '
            'steps the schedulers: leave it, or set param_scheduler=None.'
        )
