"""What a class takes: names of its arguments, and values that fit them."""

import collections.abc
import difflib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mmengine.model import BaseModule

_SEQUENCES = (
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a class or function.

    Args:
        names: Their names, those of base classes included.
        hints: Type hints, where there are any.
        open: Whether it swallows unknown names in a ``**kwargs``.
    """

    names: tuple[str, ...]
    hints: Mapping[str, Any]
    open: bool


@functools.cache
def arguments_of(kind: Callable) -> Arguments:
    """Read the arguments of a class or function.

    A ``**kwargs`` is followed to the base classes; only where it leads to
    none of them are the names taken to be open.
    """
    functions = [kind]
    if inspect.isclass(kind):
        # MMSeg puts BaseModule in the place of a class whose package is
        # missing: what is handed on to it says nothing.
        functions = [
            vars(base)['__init__']
            for base in kind.__mro__
            if base is not object
            and (base is kind or base is not BaseModule)
            and '__init__' in vars(base)
        ]
    names: dict[str, Any] = {}
    if _is_module(kind):
        names['init_cfg'] = Any
    takes_more = False
    for function in functions:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C
            return Arguments(tuple(names), names, True)
        hints = _hints(function)
        takes_more = False
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                takes_more = True
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                name = parameter.name
                names.setdefault(name, hints.get(name, Any))
        if not takes_more:
            break
    names.pop('self', None)
    return Arguments(tuple(names), names, takes_more)


def _is_module(kind: Callable) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModule)


def default_of(kind: type, name: str) -> Any:
    """The default of an argument, its own or of a base; None without one."""
    for base in kind.__mro__:
        if base is not object and '__init__' in vars(base):
            parameters = inspect.signature(vars(base)['__init__']).parameters
            if name in parameters:
                default = parameters[name].default
                return None if default is inspect.Parameter.empty else default
    return None


def _hints(function: Callable) -> dict[str, Any]:
    """Type hints; none where they name what cannot be found."""
    target = function.__init__ if inspect.isclass(function) else function
    try:
        return typing.get_type_hints(inspect.unwrap(target))
    except (NameError, TypeError, AttributeError):
        return {}


def fits(value: Any, hint: Any, strict: bool = True) -> bool:
    """Whether a value of a config can be meant for a type hint.

    Args:
        value: Made of numbers, texts, lists, tuples and dicts.
        hint: The type hint; those that are not made of such types fit all.
        strict: Whether the hint is to be taken by its word. Elsewhere a
            number may be given for a list, and None for anything.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, choice, strict) for choice in inner)
    if origin is typing.Literal:
        return not strict or value in inner
    if value is None:
        return not strict or hint in (None, type(None), Any, object)
    base = origin or hint
    if base in (float, int) and strict:
        numbers = (int, float) if base is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    if base in (float, int, bool):
        return isinstance(value, (bool, int, float))
    if base is str:
        return isinstance(value, str) or not strict
    if base in (dict, collections.abc.Mapping):
        if not strict:
            return not isinstance(value, (str, bool, int, float))
        return isinstance(value, Mapping) and _entries_fit(value, inner)
    if base in _SEQUENCES:
        return _elements_fit(value, base, inner, strict)
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
        return not strict and not isinstance(value, (str, Mapping))
    if not inner or not strict:
        return True
    if base is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(element, inner[0]) for element in value)


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
