"""Refusals of bad config values, naming the key and the value."""

from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import Any

from torch import Tensor

from ..utils.errors import UserError


def _refuse(
    values: Mapping[str, Any], right: Callable[[Any], bool], expected: str
) -> None:
    """Refuse the first of some named values that is not right."""
    for key, value in values.items():
        if not right(value):  # NaN is never
            raise UserError(f'{key}={value!r}: expected {expected}')


def at_least(minimum: int, **values: int) -> None:
    """Refuse any of the named values that is no integer >= ``minimum``."""

    def right(value: Any) -> bool:
        known = isinstance(value, Integral) and not isinstance(value, bool)
        return known and value >= minimum

    _refuse(values, right, f'an integer of at least {minimum}')


def one_of(choices: Collection, **values: object) -> None:
    """Refuse any of the named values that is not among ``choices``."""
    known = ', '.join(map(str, choices))
    _refuse(values, lambda value: value in choices, f'one of {known}')


def fraction(**values: float) -> None:
    """Refuse any of the named values that is not in [0, 1)."""
    _refuse(
        values,
        lambda v: isinstance(v, Real) and 0 <= float(v) < 1,
        '>= 0 and < 1',
    )


def agree(values: Mapping[str, object]) -> None:
    """Refuse named values that are not all the same."""
    first, *others = values.values()
    if any(other != first for other in others):
        found = ', '.join(f'{key}={value!r}' for key, value in values.items())
        raise UserError(f'{found}: make them agree')


def positive(**values: float) -> None:
    """Refuse any of the named values that is not above zero."""
    _refuse(values, lambda v: isinstance(v, Real) and float(v) > 0, '> 0')


def not_negative(**values: float) -> None:
    """Refuse any of the named values that is below zero."""
    _refuse(values, lambda v: isinstance(v, Real) and float(v) >= 0, '>= 0')


def channels(image: Tensor, **values: int) -> None:
    """Refuse images (B, C, H, W) unless C is each of the named values."""
    found = image.shape[1]
    _refuse(values, lambda value: value == found, f'{found}, as images have')
