"""Every setting of a config, changed in all ways that are surely wrong."""

import copy
import re
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]
NAN, INF = float('nan'), float('inf')
#: Settings whose words and numbers are the user's own.
FREE = re.compile(
    r'^(never|vis_backends|custom_imports|env_cfg|launcher|work_dir)\b'
    r'|\.(data_root|img_path|seg_map_path|classes|name)\b'
)
#: Names for which zero, or much more, is a choice.
ZERO = re.compile(
    r'(weight|iters|milestones|begin|num_convs|num_workers|ckpts|seed|mean'
    r'|pad_val|dropout\w*|max_ratio|prob|delta|power|momentum|decay|index'
    r'|eta_min|betas|noise_size|smooth|floor|ignore_index|indices|gamma'
    r'|num_\w+|lr_mult)(\[\d+\])*$'
)


def settings(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """All places of a config below the top, and what stands there."""
    if place:
        yield place, value
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield from settings(child, (*place, key))


def name_of(place: Place) -> str:
    """A place as errors write it."""
    text = ''
    for key in place:
        text += f'[{key}]' if isinstance(key, int) else f'.{key}'
    return text[1:]


def wrong_values(path: str, value: Any) -> Iterator[Any]:
    """Values that no setting of this kind can have."""
    if FREE.search(path):
        return
    if isinstance(value, bool):
        yield from ('yes', 3)
    elif isinstance(value, (int, float)):
        yield from ('abc', NAN, INF, {'value': value})
        if value and not ZERO.search(path):
            yield from (0, -value)
    elif isinstance(value, str) and path.endswith('.type'):
        yield from (misspelt(value), '', 5, [value])
    elif isinstance(value, dict):
        yield from ('abc', 1)
    elif isinstance(value, list):
        yield from ('abc', {'first': 1})


def misspelt(word: str) -> str:
    """A word without a letter of its middle."""
    middle = len(word) // 2
    return word[:middle] + word[middle + 1 :]


def mutations(cfg: dict) -> Iterator[tuple[str, Place, dict]]:
    """Every wrong variant of a config: what was done, where, the config."""
    for place, value in settings(cfg):
        path = name_of(place)
        for wrong in wrong_values(path, value):
            yield f'{path}={wrong!r}', place, _replaced(cfg, place, wrong)
        key = place[-1]
        in_part = len(place) > 1 and isinstance(key, str) and len(key) > 3
        if in_part and not FREE.search(path):
            other = misspelt(str(key))
            yield (
                f'{path} as {other}',
                place,
                _renamed(cfg, place, other),
            )


def _holder(cfg: dict, place: Place) -> Any:
    for key in place[:-1]:
        cfg = cfg[key]
    return cfg


def _replaced(cfg: dict, place: Place, value: Any) -> dict:
    cfg = copy.deepcopy(cfg)
    _holder(cfg, place)[place[-1]] = value
    return cfg


def _renamed(cfg: dict, place: Place, name: str) -> dict:
    cfg = copy.deepcopy(cfg)
    holder = _holder(cfg, place)
    holder[name] = holder.pop(place[-1])
    return cfg
