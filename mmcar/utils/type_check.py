"""Values that fit a type hint, and names that are nearly right."""

import difflib
import inspect
import numbers
import os
import re
import types
import typing
from collections import abc
from collections.abc import Collection, Mapping
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from .errors import UserError

_SEQUENCES = (list, tuple, abc.Sequence, abc.Iterable, abc.Collection)
_LISTS = (list, tuple, range, set)
_NEVER_TEXT = (Tensor, np.ndarray, nn.Module)


def fits(value: Any, hint: Any, strict: bool = True) -> bool:
    """Whether a value of a config can be meant for a type hint.

    Args:
        value: Made of numbers, texts, lists, tuples and dicts.
        hint: The type hint; those that are not made of such types fit all.
        strict: Whether the hint is to be taken by its word. Elsewhere a
            number may be given for a list, and None for what is no number.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    base = float if hint is numbers.Number else origin or hint
    if base in (typing.Union, types.UnionType):
        if value is None and type(None) not in inner:
            return all(fits(None, choice, strict) for choice in inner)
        return any(fits(value, choice, strict) for choice in inner)
    if not strict and _excused(value, base, inner):
        return True
    if base is typing.Literal:
        return value in inner
    if value is None:
        return base in (None, type(None), Any, object)
    if base in (int, float):
        kinds = int if base is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    if base in (str, bool):
        return isinstance(value, base)
    if base in (dict, abc.Mapping):
        return isinstance(value, abc.Mapping) and (
            len(inner) != 2
            or all(map(fits, chain(*value.items()), cycle(inner)))
        )
    if base in _SEQUENCES:
        if not isinstance(value, _LISTS) or not inner:
            return isinstance(value, _LISTS)
        if base is not tuple or inner[-1] is Ellipsis:
            return all(fits(element, inner[0], strict) for element in value)
        if not strict:  # more, or one, may be given
            return all(any(fits(v, i, strict) for i in inner) for v in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    if base in (Path, os.PathLike):
        return isinstance(value, (str, os.PathLike))
    if base in _NEVER_TEXT:
        return not isinstance(value, str)
    return base not in (None, type(None))


def _excused(value: Any, base: Any, inner: tuple) -> bool:
    """Whether others' code may take a value that its hint does not name."""
    if value is None or base is typing.Literal:
        return base not in (bool, int, float)
    if base in (int, bool):
        return value in (0, 1) if base is bool else isinstance(value, float)
    if base is str:
        return not isinstance(value, (bool, list, tuple))
    if base in (dict, abc.Mapping):
        return not isinstance(value, (str, int, float))
    wrong = (*_LISTS, str, abc.Mapping if inner else bool)
    return base in _SEQUENCES and not isinstance(value, wrong)


def misfit(path: str, value: Any, hint: Any, strict: bool = True) -> str:
    """What is wrong with a value that does not fit, in a sentence.

    Args:
        path: Where the value stands in the config.
        value: The value.
        hint: What it should be.
        strict: See `fits`.
    """
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in _SEQUENCES and isinstance(value, list):
        for index, element in enumerate(value):
            if inner and not fits(element, inner[0], strict):
                return misfit(f'{path}[{index}]', element, inner[0], strict)
    words = re.sub(r'\b(\w+\.)+', '', inspect.formatannotation(hint))
    return f'{path}={value!r}: expected {words}, got {type(value).__name__}.'


def check_keys(path: str, cfg: Mapping, hints: Mapping[str, Any]) -> None:
    """Refuse keys that a dict does not take, and values of another type.

    Args:
        path: Where the dict stands in the config.
        cfg: The dict.
        hints: All keys that it takes, with their type hints.
    """
    for key, value in cfg.items():
        if key not in hints:
            near = nearest(str(key), hints, 0.5)
            guess = f'did you mean {near!r}? ' if near else ''
            raise UserError(
                f'{path}.{key} is unknown: {guess}It takes '
                f'{", ".join(sorted(hints))}.'
            )
        if not fits(value, hints[key]):
            raise UserError(misfit(f'{path}.{key}', value, hints[key]))


def nearest(name: str, known: Collection[str], cutoff: float) -> str | None:
    """The known name that a misspelt one is closest to, if any is close.

    Args:
        name: The name.
        known: Names that exist.
        cutoff: Likeness from 0 to 1 that is called close.
    """
    by_lower = {other.lower(): other for other in known}
    for lower, other in by_lower.items():
        swapped = sorted(lower) == sorted(name.lower())
        if swapped and lower[0] == name[:1].lower():
            return other
    found = difflib.get_close_matches(name.lower(), by_lower, 1, cutoff)
    return by_lower[found[0]] if found else None
