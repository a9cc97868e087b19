"""What training, validation and test must have in common."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..utils.errors import UserError
from .config_parts import LOADERS, Part, setting_of

#: Settings of data sets that give ids and pixels their meaning.
SHARED = ('metainfo.classes', 'label_map', 'reduce_zero_label')
#: Steps that give values of images another unit.
UNITS = ('WindowIntensity', 'NormalizePercentiles', 'Normalize')


def check_splits(parts: Sequence[Part]) -> None:
    """Refuse splits of one kind of data whose ids mean different things.

    Args:
        parts: Of a config whose keys have been checked.

    Raises:
        UserError: Naming the setting in both splits.
    """
    first: dict[tuple[str, str], tuple[str, Any]] = {}
    for part in parts:
        if part.section not in LOADERS or not part.cfg.get('data_prefix'):
            continue
        for name, value in _settings(part):
            place = f'{part.path}.{name}'
            kind = str(part.cfg.get('type')), name
            where, expected = first.setdefault(kind, (place, value))
            if value != expected and part.section != where.split('.')[0]:
                if name == 'pipeline':
                    raise UserError(
                        f'{place} scales values by {value or "no step"}, but '
                        f'{where} by {expected or "no step"}: the same value '
                        'would mean different things. Make them agree.'
                    )
                raise UserError(
                    f'{place}={value!r}, but {where}={expected!r}: the same '
                    'id would mean different things. Make them agree.'
                )


def _settings(part: Part) -> Iterator[tuple[str, Any]]:
    """Every shared setting of a data set, plain enough to be compared."""
    for name in SHARED:
        outer, _, inner = name.rpartition('.')
        if outer:
            value = (part.cfg.get(outer) or {}).get(inner)
            if value is None:  # those of the data set itself
                continue
        else:
            value = setting_of(part, name)
        if isinstance(value, Mapping):
            value = {str(old): new for old, new in value.items()}
        yield name, list(value) if isinstance(value, tuple) else value
    steps = part.cfg.get('pipeline') or ()
    if isinstance(steps, (list, tuple)):
        mappings = (step for step in steps if isinstance(step, Mapping))
        yield 'pipeline', [dict(s) for s in mappings if s.get('type') in UNITS]
