"""Counts of pixels that maps share, and their IoU."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import pairwise_iou
from mmcar.evaluation.functional import iou as module

from .. import brute_force as bf


def loop(one, other, classes):
    """Every pair by itself, as booleans."""
    windows = [w.expand(len(m), -1).numpy() for m, w in (one, other)]
    a, b = one[0], other[0]
    counts = np.zeros((4, len(classes), len(a), len(b)))
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
    a = maps_and_windows(4, alike[0], 0)
    b = maps_and_windows(3, alike[1], 1)
    classes = [3, 0, 4]
    for x, y in ((a, b), (b, a), (a, a)):
        got = module.count_pairs(x, y, classes)
        want = loop(x, y, classes)
        for found, wanted in zip(got, want, strict=True):
            shape = torch.broadcast_shapes(found.shape, wanted.shape)
            np.testing.assert_array_equal(found.expand(shape), wanted)
            assert found.dtype == torch.float64


def test_packed_masks_count_every_pixel_of_a_large_map():
    maps = torch.ones(2, 2**20 + 3, dtype=torch.uint8)
    window = torch.ones(1, maps.shape[1], dtype=torch.bool)
    seen = maps, window
    counts = module.count_pairs(seen, seen, [1])
    assert (counts.both == maps.shape[1]).all()


@settings(max_examples=60)
@given(
    seed=bf.seeds,
    s=st.integers(1, 5),
    a=st.integers(1, 4),
    k=st.integers(1, 5),
    absent=st.sampled_from(['skip', 'one']),
    ignore=st.sampled_from([None, 255]),
)
def test_equals_brute_force(seed, s, a, k, absent, ignore):
    x = bf.maps(s, k, ignore=ignore, seed=seed)
    y = bf.maps(a, k, ignore=ignore, seed=seed + 1)
    if ignore:
        x, y = bf.blank_some(x, seed), bf.blank_some(y, seed + 1)
    classes = list(range(seed % k, k))
    got = pairwise_iou(x, y, num_classes=k, classes=classes, absent=absent)
    want = [
        [
            bf.iou(p, q, (p != 255) & (q != 255), classes, absent)
            for q in y.numpy()
        ]
        for p in x.numpy()
    ]
    np.testing.assert_allclose(got, want, atol=1e-12)
    # Other names of ids, of which some are equal as bytes.
    new = 64 * torch.from_numpy(np.random.default_rng(seed).permutation(k))
    new = torch.cat([new, torch.full((256 - k,), 255)])
    x, y, classes = new[x.long()], new[y.long()], new[classes].tolist()
    how = dict(num_classes=64 * k, classes=classes, absent=absent)
    named = pairwise_iou(y, x, **how)
    np.testing.assert_allclose(named.T, got)


@pytest.mark.parametrize('dtype', [torch.uint8, torch.int16, torch.int64])
def test_leading_image_dimension_and_dtypes(dtype):
    x = torch.stack([bf.maps(3, 4, seed=i) for i in range(2)]).to(dtype)
    y = torch.stack([bf.maps(2, 4, ignore=255, seed=9 + i) for i in (0, 1)])
    got = pairwise_iou(x, y.long(), num_classes=4)
    assert got.shape == (2, 3, 2)
    for i in range(2):
        one = pairwise_iou(x[i], y[i], num_classes=4)
        torch.testing.assert_close(got[i], one, equal_nan=True)
