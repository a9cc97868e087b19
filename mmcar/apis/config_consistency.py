"""Settings that contradict each other, though each alone is fine."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmengine.config import Config
from mmseg.registry import MODELS

from ..models.losses import BaseLoss
from ..models.segmentors import StochasticSegmentor
from ..models.segmentors.settings import TEST_CFG
from ..utils.errors import UserError
from .config_leftovers import check_leftovers
from .config_parts import LOADERS, Part, parts_of, setting_of
from .config_running import check_running
from .config_schedule import schedule_of
from .config_splits import check_splits
from .config_values import check_values
from .signatures import arguments_of

HEAD = 'model.decode_head'  # auxiliary ones may learn something else


def check_consistency(cfg: Config) -> None:
    """Refuse settings that contradict each other.

    Args:
        cfg: The config; its keys have been checked.

    Raises:
        UserError: Naming both keys.
    """
    parts = list(parts_of(cfg))
    check_values(parts)
    check_running(cfg, parts)
    check_leftovers(cfg, parts)
    _check_class_numbers(cfg, parts)
    check_splits(parts)
    _check_ignore_index(cfg, parts)
    _check_sample_numbers(cfg, parts)
    _check_loss_classes(cfg, parts)
    _check_regularizer(cfg, parts)


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
            return setting_of(part, 'ignore_index')
    return None


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
        return 'seg_pad_val', setting_of(part, 'seg_pad_val')
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
    found = setting_of(part, 'ignore_index')
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
        wanted = setting_of(part, 'num_samples')
        counts = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        counts = [c for c in counts if isinstance(c, int)]
        if counts and isinstance(drawn, int) and max(counts) > drawn:
            raise UserError(
                f'{part.path}.num_samples={wanted}, but '
                f'model.test_cfg.num_samples={drawn}: raise the latter.'
            )


def _check_loss_classes(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse a loss that leaves out classes which are scored.

    ``classes=(1,)`` is the foreground of two classes, and one of many in a
    config that inherits it. Whoever scores the same part means it, and a
    loss of a generator that no phase trains is not in use.
    """
    schedule = schedule_of(cfg)
    if schedule is not None and 'generator' not in schedule.networks:
        return
    names = next((list(classes) for _, classes, _ in _classes(parts)), [])
    scored = {
        part.path: _class_ids(part.cfg.get('classes'), names)
        for part in parts
        if part.section.endswith('_evaluator')
        and part.kind is not None
        and 'classes' in arguments_of(part.kind).names
    }
    for part in parts:
        learnt = part.cfg.get('classes')
        if not part.is_a(BaseLoss) or not isinstance(learnt, (list, tuple)):
            continue
        if not set(learnt) <= set(range(len(names))):
            continue  # the loss itself says what is wrong with them
        for path, ids in scored.items():
            left_out = sorted(ids - set(learnt) - {0})
            if left_out:
                raise UserError(
                    f'{part.path}.classes={tuple(learnt)} leaves out '
                    f'{", ".join(names[i] for i in left_out)}, which {path} '
                    f'scores. Delete it to learn all {len(names)} classes; '
                    'to learn these alone, let the metric score their names.'
                )


def _class_ids(classes: Any, names: Sequence[str]) -> set[int]:
    """Ids of the classes that a metric names; those of all by default."""
    if not isinstance(classes, (list, tuple)):
        return set(range(len(names)))
    return {i for i, name in enumerate(names) if {i, name} & set(classes)}


def _check_regularizer(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse a penalty on a discriminator that never learns."""
    phases = (cfg.get('train_cfg') or {}).get('phases')
    if not isinstance(phases, (list, tuple)):
        return
    trained = [
        name
        for phase in phases
        if isinstance(phase, Mapping)
        and isinstance(phase.get('train'), (list, tuple))
        for name in phase['train']
    ]
    for part in parts:
        kind = getattr(part.kind, '__name__', None)
        if kind == 'R1Hook' and 'discriminator' not in trained:
            raise UserError(
                f'{part.path} penalises the discriminator, but no phase of '
                'train_cfg.phases trains it: remove the hook or add a phase.'
            )
