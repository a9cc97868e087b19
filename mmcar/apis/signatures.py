"""What a class takes: names of its arguments and their type hints."""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.model import BaseModule


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
                hint = hints.get(name) or _hint_of(parameter.default)
                if parameter.default is None and hint is not Any:
                    hint = typing.Optional[hint]  # noqa: UP045 any hint
                names.setdefault(name, hint)
        if not takes_more:
            break
    names.pop('self', None)
    return Arguments(tuple(names), names, takes_more)


def _hint_of(default: Any) -> Any:
    """What a default says about an argument without a hint.

    A switch takes nothing else, a number no text and no switch, a word no
    switch and no list.
    """
    if isinstance(default, bool):
        return bool
    if isinstance(default, (int, float)):
        return float | None | Sequence | Mapping
    if isinstance(default, str):
        return str | float | None
    return Any


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
