"""Values that fit a type hint, and names that are nearly right."""

import collections.abc
import difflib
import numbers
import os
import types
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

_SEQUENCES = (
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
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
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return type(None) in inner or all(
                fits(None, choice, strict) for choice in inner
            )
        return any(fits(value, choice, strict) for choice in inner)
    if origin is typing.Literal:
        return not strict or value in inner
    if value is None:
        needed = hint in ((bool, int, float) if not strict else ())
        return not needed and (
            not strict or hint in (None, type(None), Any, object)
        )
    base = origin or hint
    if base is numbers.Number:
        base = float
    if base is int and strict:
        return isinstance(value, int) and not isinstance(value, bool)
    if base is bool:
        return isinstance(value, bool) or (not strict and value in (0, 1))
    if base in (float, int):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if base is str:
        other = isinstance(value, (bool, list, tuple))
        return isinstance(value, str) or not (strict or other)
    if base in (dict, collections.abc.Mapping):
        if not strict:
            return not isinstance(value, (str, bool, int, float))
        return isinstance(value, Mapping) and _entries_fit(value, inner)
    if base in _SEQUENCES:
        return _elements_fit(value, base, inner, strict)
    if base in (Path, os.PathLike):
        return isinstance(value, (str, os.PathLike))
    if base in _NEVER_TEXT:
        return not isinstance(value, str)
    return base not in (None, type(None))


def _entries_fit(value: Mapping, inner: tuple) -> bool:
    if len(inner) != 2:
        return True
    return all(
        fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
    )


def _elements_fit(value: Any, base: type, inner: tuple, strict: bool) -> bool:
    if not isinstance(value, (list, tuple, range, set)):
        # Others' code often takes one where a list is hinted at.
        other = isinstance(value, (str, Mapping) if inner else (bool, str))
        return not (strict or other)
    if not inner:
        return True
    if base is tuple and inner[-1] is not Ellipsis:
        # Others' hints often forget that more, or one, may be given.
        if not strict:
            return all(any(fits(v, i, strict) for i in inner) for v in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(element, inner[0], strict) for element in value)


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
    return (
        f'{path}={value!r}: expected {name_of(hint)}, got '
        f'{type(value).__name__}.'
    )


def name_of(hint: Any) -> str:
    """A type hint in words."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return ' or '.join(name_of(choice) for choice in inner)
    if hint in (None, type(None)):
        return 'None'
    name = getattr(typing.get_origin(hint) or hint, '__name__', str(hint))
    elements = [name_of(i) for i in inner if i is not Ellipsis]
    return f'{name} of {", ".join(elements)}' if elements else name


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
