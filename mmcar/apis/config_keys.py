"""Misspelt keys and values of another type, found before anything runs.

MMEngine ignores a key that nobody reads, so a typo changes results silently.
"""

import collections.abc
import inspect
import typing
from collections.abc import Collection, Mapping
from typing import Any

import mmengine
from mmengine.config import Config
from mmengine.runner import (
    EpochBasedTrainLoop,
    IterBasedTrainLoop,
)
from mmseg.registry import (
    DATASETS,
    MODELS,
    OPTIM_WRAPPERS,
    OPTIMIZERS,
    PARAM_SCHEDULERS,
)

from ..datasets import MultiAnnotatorDataset
from ..utils.errors import UserError
from ..utils.hints import fits, misfit, nearest
from .config_parts import LOADERS, Part, parts_of, setting_of, value_at
from .known_keys import (
    ALWAYS,
    CLIP_KEYS,
    CUSTOM_KEYS,
    CUSTOMARY,
    DICTS,
    EXTRA,
    LEVELS,
    LISTS,
    LOADER_HINTS,
    METAINFO_KEYS,
    NEEDS_TYPE,
    PARAMWISE_KEYS,
    PART_LISTS,
    PLAIN_DICTS,
    PLAIN_VALUES,
    PREFIX_KEYS,
    RUNNER_HINTS,
    RUNNER_KEYS,
    UNTYPED,
)
from .signatures import Arguments, arguments_of, default_of

CLOSE, FAIRLY_CLOSE = 0.86, 0.7  # of names, from 0 to 1
LISTED = (OPTIMIZERS, PARAM_SCHEDULERS)


def check_keys(cfg: Config) -> None:
    """Refuse keys that nobody reads and values of another type.

    Variables that a config makes for itself are free, unless their name is
    all but that of a key.

    Args:
        cfg: The config.

    Raises:
        UserError: Naming the key and the nearest one that exists.
    """
    check_sections(cfg)
    for key in cfg:
        if key not in RUNNER_KEYS | CUSTOMARY:
            _refuse_if_close(key, RUNNER_KEYS, CLOSE, 'a config')
    check_plain(cfg)
    for part in parts_of(cfg):
        check_part(part)


def check_sections(cfg: Config) -> None:
    """Refuse sections that are not made of dicts."""
    for key in DICTS:
        if not isinstance(cfg.get(key), (Mapping, type(None))):
            raise UserError(f'{key}={cfg[key]!r}: expected a dict.')
    level = cfg.get('log_level', 'INFO')
    if level not in LEVELS:
        raise UserError(
            f'log_level={level!r}: expected one of {", ".join(LEVELS)}.'
        )
    for name, hook in (cfg.get('default_hooks') or {}).items():
        if not isinstance(hook, (Mapping, type(None))):
            raise UserError(f'default_hooks.{name}={hook!r}: expected a dict.')
    for key in LISTS:
        value = cfg.get(key)
        entries = value if isinstance(value, (list, tuple)) else [value]
        for entry in entries if value is not None else ():
            if not isinstance(entry, Mapping):
                raise UserError(
                    f'{key}={value!r}: expected a dict or a list of dicts.'
                )


def check_plain(cfg: Config) -> None:
    """Refuse values of another type where no class is built."""
    for path, (known, is_open) in PLAIN_DICTS.items():
        _check_plain_dict(path, value_at(cfg, path), known, is_open)
    for path, hint in {**RUNNER_HINTS, **PLAIN_VALUES}.items():
        value = value_at(cfg, path)
        strict = path in PLAIN_VALUES or hint in (str, str | None, bool)
        if value is not None and not fits(value, hint, strict):
            raise UserError(misfit(path, value, hint, strict))


def check_part(part: Part) -> None:
    """Check one dict of a config."""
    if part.path in LOADERS:
        _check_loader(part)
        known = Arguments(tuple(LOADER_HINTS), LOADER_HINTS, False)
        _check_arguments(part, 'a data loader', known, own=True)
    elif part.key == 'metainfo':
        _check_plain_dict(part.path, part.cfg, METAINFO_KEYS, True)
    elif part.key == 'clip_grad' and part.section == 'optim_wrapper':
        _check_plain_dict(part.path, part.cfg, CLIP_KEYS, False)
    elif part.key == 'paramwise_cfg':
        _check_plain_dict(part.path, part.cfg, PARAMWISE_KEYS, True)
    elif '.paramwise_cfg.custom_keys.' in part.path:
        _check_plain_dict(part.path, part.cfg, CUSTOM_KEYS, True)
    elif part.registry is not None:
        _check_typed(part)


def _check_loader(part: Part) -> None:
    for key in ('dataset', 'sampler', 'batch_sampler'):
        if not isinstance(part.cfg.get(key), (Mapping, type(None))):
            raise UserError(
                f'{part.path}.{key}={part.cfg[key]!r}: expected a dict.'
            )
    if part.cfg.get('dataset') is None:
        raise UserError(f'{part.path}.dataset is missing.')
    sampled = part.cfg.get('sampler') or part.cfg.get('batch_sampler')
    if sampled and part.cfg.get('shuffle') is not None:
        raise UserError(
            f'{part.path}.shuffle={part.cfg["shuffle"]!r} is without effect '
            'beside a sampler: set sampler.shuffle.'
        )
    if not sampled and part.path != 'train_dataloader':
        raise UserError(
            f'{part.path}.sampler is missing: without one, several processes '
            "would score the same images. Set dict(type='DefaultSampler', "
            'shuffle=False).'
        )
    if not sampled and not part.cfg.get('shuffle'):
        raise UserError(
            f'{part.path}.sampler is missing: without one, images would come '
            "in the same order for ever. Set dict(type='InfiniteSampler', "
            'shuffle=True).'
        )


def _check_pipeline(part: Part, kind: type) -> None:
    if 'pipeline' in arguments_of(kind).names and not part.cfg.get('pipeline'):
        raise UserError(
            f'{part.path}.pipeline is empty: images would not be loaded.'
        )
    steps = part.cfg.get('pipeline') or ()
    if not isinstance(steps, (list, tuple)):
        raise UserError(f'{part.path}.pipeline={steps!r}: expected a list.')
    for index, step in enumerate(steps):
        packs = isinstance(step, Mapping) and str(step.get('type')).startswith(
            'Pack'
        )
        if packs and index + 1 < len(steps):
            raise UserError(
                f'{part.path}.pipeline[{index}] packs what the steps before '
                f'it made, but {len(steps) - index - 1} follow: put it last.'
            )
        if not isinstance(step, Mapping) and not callable(step):
            raise UserError(
                f'{part.path}.pipeline[{index}]={step!r}: expected a dict '
                'with the type of a transform.'
            )


def _check_typed(part: Part) -> None:
    kind = part.kind or _untyped_kind(part)
    optimizer = part.cfg.get('optimizer')
    if part.registry is OPTIM_WRAPPERS and isinstance(optimizer, str | list):
        raise UserError(
            f'{part.path}.optimizer={optimizer!r}: expected a dict with type '
            'and settings.'
        )
    if kind is None:
        _check_type(part)
        return
    if part.registry is DATASETS and inspect.isclass(kind):
        _check_pipeline(part, kind)
    if part.registry is MODELS and part.key.endswith(('_cfg', 'init_cfg')):
        return  # layers: their builders take more than the class
    _check_elements(part)
    known = _with_forwarded(part, arguments_of(kind))
    names = (*known.names, *EXTRA.get(part.section, ()))
    own = kind.__module__.startswith('mmcar')
    owner = kind.__name__
    if 'type' not in part.cfg:
        owner = f'{part.path} names no type, and {owner}, its default,'
    _check_arguments(
        part, owner, Arguments(names, known.hints, known.open), own
    )
    prefix = part.cfg.get('data_prefix')
    if isinstance(prefix, Mapping) and inspect.isclass(kind):
        path = f'{part.path}.data_prefix'
        ours = issubclass(kind, MultiAnnotatorDataset)
        keys = dict.fromkeys(default_of(kind, 'data_prefix') or (), Any)
        keys |= PREFIX_KEYS
        _check_plain_dict(path, prefix, keys, not ours)


def _with_forwarded(part: Part, known: Arguments) -> Arguments:
    """The arguments of a hook, and of the average that it hands them to."""
    if 'ema_type' not in known.names or not known.open:
        return known
    averaged = MODELS.get(str(setting_of(part, 'ema_type')))
    if averaged is None:
        return known
    other = arguments_of(averaged)
    return Arguments(
        (*known.names, *other.names),
        {**other.hints, **known.hints},
        other.open,
    )


def _check_elements(part: Part) -> None:
    """Refuse names where a list holds parts."""
    for key in PART_LISTS:
        value = part.cfg.get(key)
        for index, entry in enumerate(
            value if isinstance(value, list) else ()
        ):
            if isinstance(entry, (str, int, float)):
                raise UserError(
                    f'{part.path}.{key}[{index}]={entry!r}: expected a dict '
                    'with a type.'
                )


def _untyped_kind(part: Part) -> type | None:
    """The class that MMEngine takes where a config names none."""
    if 'type' in part.cfg:
        return None
    if part.path == 'train_cfg':
        by_epoch = part.cfg.get('by_epoch', True)
        return EpochBasedTrainLoop if by_epoch else IterBasedTrainLoop
    if part.registry is OPTIM_WRAPPERS and 'optimizer' in part.cfg:
        return mmengine.optim.OptimWrapper
    return UNTYPED.get(part.path)


def _check_type(part: Part) -> None:
    """Refuse a type that is not registered."""
    name = part.cfg.get('type')
    if name is None and NEEDS_TYPE.search(part.path):
        if 'metrics' in part.cfg:  # of an evaluator
            return
        raise UserError(f'{part.path}.type is missing: name a class.')
    if not isinstance(name, str) or part.foreign:
        if 'type' in part.cfg and not isinstance(name, str):
            raise UserError(
                f'{part.path}.type={name!r}: expected the name of a class.'
            )
        return
    assert part.registry is not None  # see check_part
    known = {*part.registry.module_dict}
    if part.registry.parent is not None:
        known |= {*part.registry.parent.module_dict}
    raise UserError(
        f'{part.path}.type={name!r} is not registered as a '
        f'{part.registry.name}{_hint(name, known)} A class of your own '
        'is found once a module named in custom_imports registers it.'
    )


def _check_arguments(
    part: Part, owner: str, known: Arguments, own: bool = False
) -> None:
    for key, value in part.cfg.items():
        path = f'{part.path}.{key}'
        if key in ALWAYS:
            continue
        if key not in known.names:
            if known.open:
                _refuse_if_close(key, known.names, CLOSE, owner, path)
                continue
            raise UserError(_unknown(path, key, known.names, owner))
        hint = known.hints.get(key, Any)
        if key.endswith('_cfg') and isinstance(value, (str, int, float)):
            raise UserError(f'{path}={value!r}: expected a dict.')
        if (part.section, value) == ('param_scheduler', 'phase'):
            continue  # a number by the time it is built
        if not fits(value, hint, strict=own):
            raise UserError(misfit(path, value, hint, strict=own))
        if part.registry in LISTED:
            _check_list(part, key, path, hint)


def _check_list(part: Part, key: str, path: str, hint: Any) -> None:
    """Refuse a number for a list, or a list of another length.

    Optimisers and schedulers take lists by their word.
    """
    value = part.cfg[key]
    default = setting_of(Part(path, {'type': part.kind}, None), key)
    is_list = isinstance(value, (list, tuple))
    wanted = typing.get_origin(hint) in (list, collections.abc.Sequence)
    if isinstance(default, tuple) and not (
        is_list and len(value) == len(default)
    ):
        raise UserError(
            f'{path}={value!r}: expected {len(default)} numbers, such as '
            f'{list(default)}.'
        )
    if wanted and not is_list:
        raise UserError(f'{path}={value!r}: expected a list, as [{value!r}].')


def _check_plain_dict(
    path: str, cfg: Any, known: Mapping[str, Any], is_open: bool
) -> None:
    if cfg is None:
        return
    if not isinstance(cfg, Mapping):
        raise UserError(f'{path}={cfg!r}: expected a dict.')
    for key, value in cfg.items():
        if key in known and not fits(value, known[key]):
            raise UserError(misfit(f'{path}.{key}', value, known[key]))
        if key in known or key in ALWAYS:
            continue
        if not is_open:
            raise UserError(_unknown(f'{path}.{key}', key, known, path))
        _refuse_if_close(key, known, FAIRLY_CLOSE, path, f'{path}.{key}')


def _refuse_if_close(
    key: str,
    known: Collection[str],
    cutoff: float,
    owner: str,
    path: str | None = None,
) -> None:
    if nearest(key, known, cutoff) is not None:
        raise UserError(_unknown(path or key, key, known, owner))


def _unknown(path: str, key: str, known: Collection[str], owner: str) -> str:
    names = ', '.join(sorted(known)) or 'no settings'
    return (
        f'{path}: {owner} takes no {key!r}{_hint(key, known)} It takes '
        f'{names}.'
    )


def _hint(name: str, known: Collection[str]) -> str:
    """The nearest name: one that goes on, is part of it, or is like it."""
    lower = name.lower()
    longer = [k for k in known if k.lower().startswith(lower)]
    shorter = [k for k in known if lower.endswith(f'_{k.lower()}')]
    near = min(longer, key=len, default=nearest(name, known, FAIRLY_CLOSE))
    near = near or max(shorter, key=len, default=None)
    return f'; did you mean {near!r}?' if near else '.'
