"""Refusals of bad config values, naming the key and the value."""

from collections.abc import Collection
from numbers import Integral, Real

from torch import Tensor

from ..utils.errors import UserError


def at_least(minimum: int, **values: int) -> None:
    """Refuse any of the named values that is no integer >= ``minimum``."""
    for key, value in values.items():
        known = isinstance(value, Integral) and not isinstance(value, bool)
        if not known or value < minimum:
            raise UserError(
                f'{key}={value!r}: expected an integer of at least {minimum}'
            )


def one_of(choices: Collection, **values: object) -> None:
    """Refuse any of the named values that is not among ``choices``."""
    for key, value in values.items():
        if value not in choices:
            known = ', '.join(map(str, choices))
            raise UserError(f'{key}={value!r}: expected one of {known}')


def fraction(**values: float) -> None:
    """Refuse any of the named values that is not in [0, 1)."""
    for key, value in values.items():
        if not isinstance(value, Real) or not 0 <= value < 1:
            raise UserError(f'{key}={value!r}: expected 0 <= {key} < 1')


def channels(image: Tensor, **values: int) -> None:
    """Refuse images (B, C, H, W) unless C is each of the named values."""
    for key, value in values.items():
        if image.shape[1] != value:
            raise UserError(
                f'{key}={value}, but images have {image.shape[1]} channels: '
                'make them agree'
            )


def positive(**values: float) -> None:
    """Refuse any of the named values that is not above zero."""
    for key, value in values.items():
        if not isinstance(value, Real) or not value > 0:  # NaN is not
            raise UserError(f'{key}={value!r}: expected > 0')


def not_negative(**values: float) -> None:
    """Refuse any of the named values that is below zero."""
    for key, value in values.items():
        if not isinstance(value, Real) or not value >= 0:  # NaN is not
            raise UserError(f'{key}={value!r}: expected >= 0')
