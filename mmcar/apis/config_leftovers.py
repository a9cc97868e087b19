"""What another config, split or version of MMSeg has left behind."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mmengine.config import Config

from ..utils.errors import UserError
from .config_parts import LOADERS, Part, setting_of, value_at

#: Keys of MMSeg 0.x that nobody reads any more, and what took their place.
OLD_KEYS = {
    'seed': 'randomness.seed',
    'deterministic': 'randomness.deterministic',
    'cudnn_benchmark': 'env_cfg.cudnn_benchmark',
    'dist_params': 'env_cfg.dist_cfg',
    'lr_config': 'param_scheduler',
    'optimizer_config': 'optim_wrapper',
    'runner': 'train_cfg',
    'evaluation': 'val_evaluator',
    'checkpoint_config': 'default_hooks.checkpoint',
    'log_config': 'default_hooks.logger',
    'resume_from': 'load_from',
}
#: What ``data`` held in MMSeg 0.x; others may call a variable so.
OLD_DATA = {'samples_per_gpu', 'workers_per_gpu', 'train', 'val', 'test'}
#: Lists in which the same entry twice does the same thing twice.
LISTS = ('custom_hooks', 'param_scheduler', 'val_evaluator', 'test_evaluator')
SPLITS = {
    'train': 'train',
    'training': 'train',
    'val': 'val',
    'valid': 'val',
    'validation': 'val',
    'test': 'test',
    'testing': 'test',
}
#: Settings of a transform of which one silently wins.
EITHER_OR = {'Resize': ('scale', 'scale_factor')}


def check_leftovers(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse settings that belong to another config.

    Args:
        cfg: The config; its keys have been checked.
        parts: Its parts.

    Raises:
        UserError: Naming the key.
    """
    _check_old_keys(cfg)
    for key in LISTS:
        _check_repeated(key, cfg.get(key))
    for part in parts:
        if part.section not in LOADERS:
            continue
        _check_split(part)
        _check_transform(cfg, part)
        if part.section != 'train_dataloader':
            _check_evaluation(part)


def _check_old_keys(cfg: Config) -> None:
    """Refuse an old key, unless the new one says the same."""
    for key, place in OLD_KEYS.items():
        value = cfg.get(key)
        if value is not None and not _agree(value, value_at(cfg, place)):
            raise UserError(
                f'{key}={value!r} is a key of MMSeg 0.x that nobody reads '
                f'any more: set {place} instead.'
            )
    data = cfg.get('data')
    if isinstance(data, Mapping) and OLD_DATA & data.keys():
        raise UserError(
            f'data={dict(data)!r} is a key of MMSeg 0.x that nobody reads '
            'any more: set train_dataloader, val_dataloader and '
            'test_dataloader instead.'
        )


def _agree(old: Any, new: Any) -> bool:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        settings = {k: v for k, v in old.items() if k != 'type'}
        return bool(settings) and all(
            k in new and new[k] == v for k, v in settings.items()
        )
    return bool(old == new)


def _check_repeated(key: str, entries: Any) -> None:
    entries = entries if isinstance(entries, (list, tuple)) else ()
    for index, entry in enumerate(entries):
        if entry in entries[:index]:
            first = entries.index(entry)
            raise UserError(
                f'{key}[{index}] is the same as {key}[{first}]: remove one, '
                'or it is done twice.'
            )


def _check_split(part: Part) -> None:
    """Refuse the images of one split with the labels of another."""
    prefix = part.cfg.get('data_prefix')
    if not isinstance(prefix, Mapping):
        return
    images, labels = prefix.get('img_path'), prefix.get('seg_map_path')
    splits = [_split_of(path) for path in (images, labels)]
    if None not in splits and splits[0] != splits[1]:
        raise UserError(
            f'{part.path}.data_prefix: img_path={images!r} and seg_map_path='
            f'{labels!r} are of different splits.'
        )


def _split_of(path: Any) -> str | None:
    """The split that a path names, None if it names none or several."""
    words: Iterable[str] = re.split(r'[/\\]', str(path).lower())
    found = {SPLITS[word] for word in words if word in SPLITS}
    return found.pop() if len(found) == 1 else None


def _check_transform(cfg: Config, part: Part) -> None:
    kind = part.cfg.get('type')
    preprocessor = (cfg.get('model') or {}).get('data_preprocessor') or {}
    if kind == 'Normalize' and preprocessor.get('mean') is not None:
        raise UserError(
            f'{part.path}: Normalize and model.data_preprocessor.mean would '
            'normalise images twice: remove one.'
        )
    both = EITHER_OR.get(str(kind), ())
    if both and all(part.cfg.get(key) is not None for key in both):
        raise UserError(
            f'{part.path} has {" and ".join(both)}, of which only '
            f'{both[0]} would be used: remove one.'
        )


def _check_evaluation(part: Part) -> None:
    """Refuse what training draws at random, where images are scored."""
    kind = str(part.cfg.get('type'))
    if part.path in LOADERS and part.cfg.get('drop_last'):
        raise UserError(
            f'{part.path}.drop_last=True: the last images would not be '
            'scored. Leave it out.'
        )
    if part.key == 'sampler' and kind == 'InfiniteSampler':
        raise UserError(
            f'{part.path}.type={kind!r} never ends: to score every image '
            "once, use 'DefaultSampler'."
        )
    if kind == 'LoadMultiAnnotations' and setting_of(part, 'draw'):
        raise UserError(
            f'{part.path}.draw is True, here or by default: images would be '
            'scored by one annotator drawn at random. Set draw=False.'
        )
    own = getattr(part.kind, '__module__', '').startswith('mmcar')
    certain = part.cfg.get('prob') in (0, 1)
    if part.key == 'pipeline' and kind.startswith('Random'):
        if own or certain:
            return
        raise UserError(
            f'{part.path} ({kind}) changes images at random, but they are '
            'to be scored as they are: remove it.'
        )
