import random

import numpy as np
import torch

from mmcar.engine.seeding import derive_seed, seed_all


def test_seeds_are_stable_and_distinct():
    assert derive_seed(0, 1, 2) == derive_seed(0, 1, 2)
    grid = {
        derive_seed(a, b, c)
        for a in range(3)
        for b in range(9)
        for c in range(9)
    }
    assert len(grid) == 3 * 9 * 9
    assert all(0 <= seed < 2**63 for seed in grid)


def test_seeds_every_generator():
    def draw():
        return random.random(), np.random.rand(), float(torch.rand(()))

    seed_all(1, 2)
    first, second = draw(), draw()
    seed_all(1, 2)
    assert draw() == first
    assert first != second
    seed_all(1, 3)
    assert all(a != b for a, b in zip(draw(), first, strict=True))
