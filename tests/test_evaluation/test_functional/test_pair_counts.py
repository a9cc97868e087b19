import numpy as np
import pytest
import torch

from mmcar.evaluation.functional import pair_counts as module

from .. import brute_force as bf


def loop(a, b, a_window, b_window, classes):
    """Every pair by itself, as booleans."""
    counts = np.zeros((4, len(classes), len(a), len(b)))
    windows = [
        w.expand(len(m), -1).numpy() for m, w in ((a, a_window), (b, b_window))
    ]
    for i, j in np.ndindex(len(a), len(b)):
        window = windows[0][i] & windows[1][j]
        for n, c in enumerate(classes):
            x, y = a[i].numpy() == c, b[j].numpy() == c
            counts[:, n, i, j] = [
                (m & window).sum() for m in (x & y, x, y, True)
            ]
    return *counts[:3], counts[3, 0]


def maps_and_windows(number, alike, seed):
    maps = bf.maps(number, 5, (19, 23), 255, seed).flatten(1)
    windows = maps != 255
    return maps, windows[:1] if alike else windows


@pytest.mark.parametrize('alike', [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize('block', [1, 1000, 2**20])
@pytest.mark.parametrize('bits', [True, False])
def test_counts_equal_a_loop(alike, block, bits, monkeypatch):
    monkeypatch.setattr(module, 'BLOCK', block)
    if not bits:
        monkeypatch.delattr(np, 'bitwise_count')
    a, a_window = maps_and_windows(4, alike[0], 0)
    b, b_window = maps_and_windows(3, alike[1], 1)
    classes = [3, 0, 4]
    for x, y in (
        ((a, a_window), (b, b_window)),
        ((b, b_window), (a, a_window)),
        ((a, a_window), (a, a_window)),
    ):
        args = (x[0], y[0], x[1], y[1], classes)
        got, want = module.count_pairs(*args), loop(*args)
        for found, wanted in zip(got, want, strict=True):
            shape = torch.broadcast_shapes(found.shape, wanted.shape)
            np.testing.assert_array_equal(found.expand(shape), wanted)
            assert found.dtype == torch.float64


def test_packed_masks_count_every_pixel_of_a_large_map():
    maps = torch.ones(2, 2**20 + 3, dtype=torch.uint8)
    window = torch.ones(1, maps.shape[1], dtype=torch.bool)
    counts = module.count_pairs(maps, maps, window, window, [1])
    assert (counts.both == maps.shape[1]).all()
