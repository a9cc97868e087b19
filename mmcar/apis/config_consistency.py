"""Settings that contradict each other, though each alone is fine."""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmengine.config import Config
from mmseg.registry import MODELS

from ..models.segmentors import StochasticSegmentor
from ..models.segmentors.settings import TEST_CFG
from ..utils.errors import UserError
from .config_parts import LOADERS, Part, parts_of
from .signatures import arguments_of, default_of

HEAD = 'model.decode_head'  # auxiliary ones may learn something else


def check_consistency(cfg: Config) -> None:
    """Refuse settings that contradict each other.

    Args:
        cfg: The config; its keys have been checked.

    Raises:
        UserError: Naming both keys.
    """
    parts = list(parts_of(cfg))
    _check_numbers(parts)
    _check_class_numbers(cfg, parts)
    _check_ignore_index(cfg, parts)
    _check_sample_numbers(cfg, parts)
    _check_regularizer(cfg, parts)


def _check_numbers(parts: Sequence[Part]) -> None:
    """Refuse values that no number of its kind can have."""
    for part in parts:
        for key, value in part.cfg.items():
            path = f'{part.path}.{key}'
            if isinstance(value, float) and math.isnan(value):
                raise UserError(f'{path} is NaN: expected a number.')
            if key == 'loss_weight' and _is_number(value) and value < 0:
                raise UserError(
                    f'{path}={value}: the model would learn the opposite; '
                    'expected a number >= 0.'
                )
            if key == 'std' and part.key == 'data_preprocessor':
                _check_std(path, value)
            if (part.path, key) == ('default_hooks.checkpoint', 'rule'):
                _check_rule(path, value)
            never = value == 0 if key == 'interval' else _below_one(value)
            if key in ('interval', 'val_interval') and never:
                raise UserError(
                    f'{path}={value}: expected a number of iterations or '
                    'epochs above 0.'
                )


def _check_rule(path: str, value: Any) -> None:
    rules = value if isinstance(value, (list, tuple)) else [value]
    if any(rule not in (None, 'greater', 'less') for rule in rules):
        raise UserError(f"{path}={value!r}: expected 'greater' or 'less'.")


def _below_one(value: Any) -> bool:
    return _is_number(value) and value < 1


def _check_std(path: str, value: Any) -> None:
    deviations = value if isinstance(value, (list, tuple)) else [value]
    if any(_is_number(x) and x <= 0 for x in deviations):
        raise UserError(f'{path}={value}: images are divided by it; > 0.')


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_class_numbers(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse data of more or fewer classes than the heads have."""
    heads = {
        f'{part.path}.num_classes': part.cfg['num_classes']
        for part in parts
        if part.path.partition('[')[0] == HEAD
        and isinstance(part.cfg.get('num_classes'), int)
    }
    for path, classes, unseen in _classes(parts):
        for key, number in heads.items():
            if number not in (len(classes), len(classes) - unseen):
                raise UserError(
                    f'{key}={number}, but {path} has {len(classes)} classes: '
                    f'{", ".join(map(str, classes[:30]))}. Make them agree.'
                )


def _classes(
    parts: Sequence[Part],
) -> Iterator[tuple[str, Sequence[str], int]]:
    """Class names of every data set, where they stand, and unseen ones.

    The twins of classes that flip are seen by models that learn from flipped
    labels only, and class 0 may be left out by ``reduce_zero_label``.
    """
    for part in parts:
        if part.section not in LOADERS or part.key not in (
            'dataset',
            'datasets',
        ):
            continue
        metainfo = part.cfg.get('metainfo') or {}
        own = getattr(part.kind, 'METAINFO', None) or {}
        where = f'{part.path}.metainfo.classes'
        classes = metainfo.get('classes')
        if classes is None:
            where = f'{part.path}.type={part.cfg.get("type")!r}'
            classes = own.get('classes')
        if isinstance(classes, (list, tuple)):
            flips = metainfo.get('class_flips', own.get('class_flips')) or ()
            yield where, classes, _unseen(part.cfg, len(flips))


def _unseen(dataset: Mapping, flips: int) -> int:
    """How many classes of a data set its labels may leave out."""
    steps = [
        s for s in dataset.get('pipeline') or () if isinstance(s, Mapping)
    ]
    if dataset.get('reduce_zero_label') or any(
        step.get('reduce_zero_label') for step in steps
    ):
        return 1
    drawn = any(step.get('type') == 'RandomClassFlips' for step in steps)
    return 0 if drawn else flips


def _model_ignore_index(cfg: Config, parts: Sequence[Part]) -> int | None:
    """Which label the model takes for unlabelled, where that is known."""
    for part in parts:
        if part.path.partition('[')[0] == HEAD:
            return _setting(part, 'ignore_index')
    return None


def _setting(part: Part, name: str) -> Any:
    """What a config says of an argument, or the default of its class."""
    if name in part.cfg:
        return part.cfg[name]
    kind = part.kind
    if not isinstance(kind, type) or name not in arguments_of(kind).names:
        return None
    return default_of(kind, name)


def _check_ignore_index(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse parts that take other pixels for unlabelled than the model."""
    expected = _model_ignore_index(cfg, parts)
    if expected is None:
        return
    for part in parts:
        key, found = _ignored_by(part)
        if found is not None and found != expected:
            raise UserError(
                f'{part.path}.{key}={found}, but the model takes '
                f'{expected} for unlabelled (model.decode_head.ignore_index):'
                ' make them agree.'
            )


def _ignored_by(part: Part) -> tuple[str, int | None]:
    """The key and the id that a part writes into, or skips in, label maps."""
    if part.path in ('model.data_preprocessor', 'data_preprocessor'):
        return 'seg_pad_val', _setting(part, 'seg_pad_val')
    padding = part.cfg.get('pad_val')
    if part.section in LOADERS and isinstance(padding, Mapping):
        return 'pad_val.seg', padding.get('seg')
    in_data = part.section in LOADERS and part.registry is not None
    # A crop asks for it only where it looks at the share of a class.
    if in_data and part.cfg.get('cat_max_ratio', 1.0) == 1.0:
        is_crop = part.cfg.get('type') == 'RandomCrop'
        return 'ignore_index', None if is_crop else _ignored(part)
    if in_data or part.section.endswith('_evaluator'):
        return 'ignore_index', _ignored(part)
    return '', None


def _ignored(part: Part) -> int | None:
    found = _setting(part, 'ignore_index')
    return found if isinstance(found, int) else None


def _check_sample_numbers(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse metrics that want more samples than are drawn."""
    model = cfg.get('model') or {}
    kind = Part('model', model, MODELS).kind
    if not (inspect.isclass(kind) and issubclass(kind, StochasticSegmentor)):
        return
    test_cfg = model.get('test_cfg') or {}
    drawn = test_cfg.get('num_samples', TEST_CFG['num_samples'])
    for part in parts:
        if not part.section.endswith('_evaluator'):
            continue
        wanted = _setting(part, 'num_samples')
        counts = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        counts = [c for c in counts if isinstance(c, int)]
        if counts and isinstance(drawn, int) and max(counts) > drawn:
            raise UserError(
                f'{part.path}.num_samples={wanted}, but '
                f'model.test_cfg.num_samples={drawn}: raise the latter.'
            )


def _check_regularizer(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse a penalty on a discriminator that never learns."""
    phases = (cfg.get('train_cfg') or {}).get('phases')
    if not isinstance(phases, (list, tuple)):
        return
    trained = [
        name
        for phase in phases
        if isinstance(phase, Mapping)
        for name in phase.get('train', ())
    ]
    for part in parts:
        kind = getattr(part.kind, '__name__', None)
        if kind == 'R1Hook' and 'discriminator' not in trained:
            raise UserError(
                f'{part.path} penalises the discriminator, but no phase of '
                'train_cfg.phases trains it: remove the hook or add a phase.'
            )
