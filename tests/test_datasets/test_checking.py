import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.datasets.checking import find_bad_values, find_odd_values, measure


def picture(dtype='uint16', low=0, high=4000, path='x', size=(9, 9)):
    rng = np.random.default_rng(0)
    values = rng.integers(low, high, size, endpoint=True)
    return measure(path, values.astype(dtype))


@settings(max_examples=20, deadline=None)
@given(share=st.floats(0.01, 0.99), dtype=st.sampled_from(('u1', 'i2', 'f4')))
def test_saturation_is_the_share_of_the_largest_value(share, dtype):
    image = np.arange(100).astype(dtype)
    image[100 - int(100 * share) :] = 100
    problems = find_bad_values(measure('x', image.reshape(10, 10)))
    expected = int(100 * share) > 50
    assert bool(problems) == expected
    if expected:
        assert f'{int(100 * share)}% of the values' in problems[0][1]


def test_types_and_ranges_that_differ():
    usual = [picture(path=str(i)) for i in range(5)]
    assert find_odd_values(usual) == [] == find_odd_values([])
    odd = [
        picture('uint8', high=255, path='type'),
        picture(high=100, path='narrow'),
        picture('uint16', high=3000, path='fine'),
    ]
    problems = dict(find_odd_values(usual + odd))
    assert set(problems) == {'type', 'narrow'}
    dark = [picture('uint8', high=h, path=str(h)) for h in (255, 250, 9)]
    assert find_odd_values(dark) == []
    grey = picture('uint8', high=255, size=(9, 9, 3))
    assert find_odd_values([*dark, grey]) == []
