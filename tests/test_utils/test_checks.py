import pytest
import torch

from mmcar.utils.checks import (
    at_least,
    channels,
    fraction,
    not_negative,
    one_of,
    positive,
)
from mmcar.utils.errors import UserError


@pytest.mark.parametrize(
    ('check', 'good', 'bad'),
    [
        (lambda v: at_least(2, depth=v), [2, 9], [1, -3, 2.0, '3']),
        (lambda v: one_of(('a', 'b'), depth=v), ['a', 'b'], ['c', None]),
        (lambda v: fraction(depth=v), [0, 0.5], [-0.1, 1, 1.5]),
        (lambda v: positive(depth=v), [1e-9, 4], [0, -1]),
        (lambda v: not_negative(depth=v), [0, 4], [-1, float('nan')]),
        (lambda v: channels(torch.zeros(1, 3, 2, 4), depth=v), [3], [1, 2, 4]),
    ],
)
def test_bad_values_are_refused_by_name(check, good, bad):
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(UserError, match='depth=') as caught:
            check(value)
        assert repr(value) in str(caught.value)
