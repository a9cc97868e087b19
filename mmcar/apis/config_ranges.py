"""What the name of a number says about its range, whoever takes it."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..utils.errors import UserError

#: Words of names whose numbers may be negative; all others may not.
SIGNED = re.compile(
    r'(^|_)(a|angles?|axis|b|bias|ckpts|coord|degrees?|dim|high|idxs?|index'
    r'|indexes|indices|interval|labels?|last|level|low|lower|mean|min|max|nan'
    r'|offset|origin|range|scales?|seed|shift|stages|token|translate|upper'
    r'|vals?|values?)(_|$)'
)
#: What may stand in the place of a number.
WORDS = ('phase', 'auto', 'same', 'dynamic')
#: Learning rates and weights beyond this let every training diverge.
VAST = 1e6


@dataclass(frozen=True)
class Range:
    """The numbers that a setting can have.

    Args:
        low: The smallest.
        high: The largest.
        whole: Whether only whole numbers make sense.
        open_low: Whether ``low`` itself is too small.
        also: Numbers beyond that switch something off.
    """

    low: float = 0
    high: float = VAST
    whole: bool = False
    open_low: bool = False
    also: tuple[float, ...] = ()

    def __contains__(self, number: float) -> bool:
        if number in self.also:
            return True
        if self.whole and number != int(number):
            return False
        above = number > self.low if self.open_low else number >= self.low
        return above and number <= self.high

    def __str__(self) -> str:
        kind = 'a whole number' if self.whole else 'a number'
        sign = '>' if self.open_low else '>='
        return f'{kind} {sign} {self.low:g} and <= {self.high:.10g}'


SIZE = Range(1, 2**15, whole=True)
FEW = Range(1, 1000, whole=True)
MANY = Range(1, 2**40, whole=True)
SHARE = Range(0, 1)
ABOVE_0 = Range(0, open_low=True)
#: The first that matches the whole name counts.
RANGES: tuple[tuple[re.Pattern[str], Range], ...] = tuple(
    (re.compile(pattern), numbers)
    for pattern, numbers in (
        (r'(\w+_)?num_threads', Range(0, 1024, whole=True)),
        (r'num_workers', Range(0, 128, whole=True)),
        (r'num_(convs|fcs|mlp|stem_blocks|\w+_fcs)', Range(0, 1000, True)),
        (r'num_(samples|points|queries|codes|bases)', Range(1, 1e5, True)),
        (r'num_\w+', Range(0, VAST, whole=True)),
        (r'(\w+_)?samples', Range(1, 1e5, whole=True)),
        (r'(\w+_)?channels|(\w+_)?embed_dims?', SIZE),
        (r'(batch|crop|img|image|patch|window|mask|kernel)_size|size', SIZE),
        (r'(noise|latent)_size|kernel_sizes|patch_sizes|filter_sizes', SIZE),
        (r'size_divisor|prefetch_factor|accumulative_counts', SIZE),
        (r'strides?|dilations?|(key_)?pool_scales', SIZE),
        (r'depths?|rank|num_heads|max_long_edge', FEW),
        (r'max_iters|max_epochs|val_interval|T_max', MANY),
        (r'interval', Range(1, 2**40, whole=True, also=(-1,))),
        (r'iters|begin|end|val_begin|milestones', Range(0, 2**40, True)),
        (r'prob|dropout|(\w+_)?drop|(\w+_)?drop_rate', SHARE),
        (r'dropout_ratio', Range(0, 1, also=(-1,))),
        (r'cat_max_ratio|momentum|betas|(\w+_)?decay_rate', SHARE),
        (r'weight_decay', SHARE),
        (r'lr', Range(0, 10, open_low=True)),
        (r'loss_weight', Range()),
        (r'std|temperature|max_norm|T|scale_factor|ratio_range', ABOVE_0),
        (r'scales?', Range(0, VAST, open_low=True, also=(-1,))),
        (r'start_factor|end_factor|gamma|power', Range(0, 1000)),
    )
)


def check_range(path: str, key: str, value: Any) -> None:
    """Refuse numbers that no setting of this name can have.

    Args:
        path: Where the setting stands in the config.
        key: Its name.
        value: A number, or a list of numbers; all else passes.

    Raises:
        UserError: Naming the key, the value and the range.
    """
    expected = range_of(key)
    for number in filter(_is_number, _leaves(value)):
        if math.isnan(number) or (
            math.isinf(number) and (expected or key != 'norm_type')
        ):
            raise UserError(f'{path}={value!r}: expected a finite number.')
        if expected is not None and number not in expected:
            raise UserError(f'{path}={value!r}: expected {expected}.')
        if expected is None and number < 0 and not _may_be_negative(key):
            raise UserError(f'{path}={value!r}: expected no negative number.')
    if expected is not None and any(map(_is_no_number, _leaves(value))):
        raise UserError(f'{path}={value!r}: expected {expected}.')


def range_of(key: str) -> Range | None:
    """The range that a name tells, None if it tells none."""
    for pattern, numbers in RANGES:
        if pattern.fullmatch(key):
            return numbers
    return None


def _may_be_negative(key: str) -> bool:
    return SIGNED.search(key.lower()) is not None


def _leaves(value: Any) -> Iterator[Any]:
    """A value itself, or all values of nested lists."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from _leaves(element)
    else:
        yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_no_number(value: Any) -> bool:
    """Whether a switch, a text or a dict of no part stands for a number."""
    if isinstance(value, Mapping):
        return 'type' not in value
    return isinstance(value, (bool, str)) and value not in WORDS
