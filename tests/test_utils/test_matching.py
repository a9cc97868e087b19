from itertools import permutations

import numpy as np
import pytest

from mmcar.utils.matching import match_repeated


@pytest.mark.parametrize('shape', [(1, 1), (2, 2), (2, 4), (3, 2), (4, 1)])
def test_best_of_all_permutations(shape):
    scores = np.random.default_rng(0).random(shape)
    rows, columns = match_repeated(scores)
    size = np.lcm(*shape)
    for index, number in zip((rows, columns), shape, strict=True):
        assert np.bincount(index).tolist() == [size // number] * number
    repeated = np.arange(size) % shape[0]
    best = max(
        sum(scores[r, c % shape[1]] for r, c in zip(repeated, p, strict=True))
        for p in permutations(range(size))
    )
    assert scores[rows, columns].sum() == pytest.approx(best)
