"""Values that no setting of their name can have."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.runner import priority

from ..utils.errors import UserError
from .config_parts import Part
from .config_ranges import check_range

#: Dicts whose keys are names of the user's own.
NO_NUMBERS = ('metainfo', 'label_map', 'custom_keys')


def check_values(parts: Sequence[Part]) -> None:
    """Refuse values that are out of range.

    Args:
        parts: Of a config whose keys and types have been checked.

    Raises:
        UserError: Naming the key.
    """
    for part in parts:
        if part.key == 'metainfo':
            _check_metainfo(part)
        for key, value in part.cfg.items():
            path = f'{part.path}.{key}'
            _check_value(part, key, path, value)
            if isinstance(key, str) and part.key not in NO_NUMBERS:
                check_range(path, key, value)


def _check_value(part: Part, key: str, path: str, value: Any) -> None:
    if key == 'loss_weight' and _is_number(value) and value < 0:
        raise UserError(
            f'{path}={value}: the model would learn the opposite; '
            'expected a number >= 0.'
        )
    if key in ('mean', 'std') and part.key == 'data_preprocessor':
        _check_pair(part, key)
    if (part.path, key) == ('default_hooks.checkpoint', 'rule'):
        _check_rule(path, value)
    if (part.path, key) == ('visualizer', 'alpha') and _is_number(value):
        _check_share(path, value)
    if key == 'priority' and part.section.endswith('_hooks'):
        _check_priority(path, value)


def _check_pair(part: Part, key: str) -> None:
    """Refuse a mean without a deviation, which would change nothing."""
    other = 'std' if key == 'mean' else 'mean'
    if (part.cfg[key] is None) != (part.cfg.get(other) is None):
        raise UserError(
            f'{part.path}.{key}={part.cfg[key]!r}, but {other}='
            f'{part.cfg.get(other)!r}: images are normalised by both or none.'
        )
    values = [part.cfg[key], part.cfg.get(other)]
    lists = [x for x in values if isinstance(x, (list, tuple))]
    if len({len(x) for x in lists}) > 1:
        raise UserError(
            f'{part.path}.{key}={part.cfg[key]!r}, but {other}='
            f'{part.cfg.get(other)!r}: expected as many numbers as images '
            'have channels.'
        )


def _check_share(path: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UserError(f'{path}={value}: expected a number from 0 to 1.')


def _check_priority(path: str, value: Any) -> None:
    try:
        priority.get_priority(value)
    except (KeyError, TypeError, ValueError) as error:
        names = ', '.join(priority.Priority.__members__)
        raise UserError(
            f'{path}={value!r}: expected one of {names}, or a number from 0 '
            'to 100.'
        ) from error


def _check_rule(path: str, value: Any) -> None:
    rules = value if isinstance(value, (list, tuple)) else [value]
    if any(rule not in (None, 'greater', 'less') for rule in rules):
        raise UserError(f"{path}={value!r}: expected 'greater' or 'less'.")


def _check_metainfo(part: Part) -> None:
    """Refuse class names that are no list of different names."""
    path, classes = f'{part.path}.classes', part.cfg.get('classes')
    if isinstance(classes, str):
        if not os.path.isfile(classes):
            raise UserError(
                f'{path}={classes!r}: expected a list of names, or a file '
                'with one per line.'
            )
        return
    if classes is not None and len(set(classes)) < len(classes):
        twice = {name for name in classes if list(classes).count(name) > 1}
        raise UserError(f'{path}: {sorted(twice)} more than once.')
    palette = part.cfg.get('palette')
    if isinstance(palette, Mapping) or not (palette and classes):
        return
    values = [value for colour in palette for value in colour]
    if any(value not in range(256) for value in values):
        raise UserError(
            f'{part.path}.palette={palette!r}: expected numbers from 0 to 255.'
        )
    if len(palette) < len(classes):
        raise UserError(
            f'{part.path}.palette has {len(palette)} colours for '
            f'{len(classes)} classes.'
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
