import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import best_match_iou, hm_iou, pairwise_iou
from mmcar.utils import matching

from .. import brute_force as bf

LIDC = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}


@settings(max_examples=40)
@given(
    seed=bf.seeds,
    s=st.integers(1, 7),
    a=st.integers(1, 5),
    ignore=st.sampled_from([None, 255]),
    transport=st.booleans(),
)
def test_hm_iou_equals_repeated_assignment(seed, s, a, ignore, transport):
    x = bf.maps(s, 2, seed=seed)
    y = bf.maps(a, 2, ignore=ignore, seed=seed + 1)
    if ignore:
        y = bf.blank_some(y, seed)
    weights = torch.ones(s) if transport else None
    got = hm_iou(x, y, sample_weights=weights, **LIDC)
    want = bf.hm_iou(x, y, (1,), 255, 'one')
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_weights_are_repetitions():
    number = torch.tensor([1, 4, 0, 3])
    x, y = bf.maps(4, 4, seed=1), bf.maps(3, 4, ignore=255, seed=2)
    got = hm_iou(x, y, num_classes=4, sample_weights=2.0 * number)
    repeated = hm_iou(x.repeat_interleave(number, 0), y, num_classes=4)
    torch.testing.assert_close(got, repeated)
    assert not torch.allclose(got, hm_iou(x, y, num_classes=4))


def test_hm_iou_of_large_multiples_builds_no_large_matrix(monkeypatch):
    x, y = bf.maps(61, 2, (9, 9)), bf.maps(59, 2, (9, 9), seed=1)
    sizes = []
    solve = matching.scipy.optimize.linear_sum_assignment
    monkeypatch.setattr(
        matching.scipy.optimize,
        'linear_sum_assignment',
        lambda m, **k: sizes.append(m.shape) or solve(m, **k),
    )
    score = hm_iou(x, y, **LIDC)  # multiple: 3599
    assert not sizes
    # a coupling of both sets: between the independent and the best pairing
    iou = pairwise_iou(x, y, **LIDC)
    best = min(iou.amax(0).mean(), iou.amax(1).mean())
    assert iou.mean() < score <= best + 1e-9


def test_annotators_who_labelled_nothing_are_not_matched():
    y = bf.maps(2, 2, ignore=255)
    nothing = torch.full_like(y, 255)
    x = bf.maps(3, 2, seed=1)
    for absent in ('one', 'skip'):
        how = dict(num_classes=2, classes=(0, 1), absent=absent)
        want = hm_iou(x, y, **how)
        assert hm_iou(x, torch.cat([nothing, y]), **how) == want
        assert not want.isnan() and hm_iou(x, nothing, **how).isnan()
        best = best_match_iou(x, torch.cat([nothing, y]), **how)
        assert best.isnan().tolist() == [True, True, False, False]


def test_hm_iou_skips_images_with_undefined_pairs():
    x = torch.zeros(2, 3, 3, dtype=torch.uint8)
    assert hm_iou(x, x, num_classes=2, absent='skip').isnan()


def test_permutation_and_batches():
    x = torch.stack([bf.maps(6, 3, seed=i) for i in range(2)])
    y = torch.stack([bf.maps(4, 3, seed=9 + i) for i in range(2)])
    got = hm_iou(x, y, num_classes=3)
    moved = hm_iou(x.flip(1), y.flip(1), num_classes=3)
    torch.testing.assert_close(got, moved)
    torch.testing.assert_close(got[1], hm_iou(x[1], y[1], num_classes=3))


@settings(max_examples=20)
@given(seed=bf.seeds, absent=st.sampled_from(['skip', 'one']))
def test_best_match(seed, absent):
    x, y = bf.maps(4, 3, seed=seed), bf.maps(3, 3, ignore=255, seed=seed + 1)
    how = {'num_classes': 3, 'classes': (1, 2), 'absent': absent}
    best = best_match_iou(x, y, **how)
    for j, label in enumerate(y.numpy()):
        ious = [
            bf.iou(s, label, label != 255, (1, 2), absent) for s in x.numpy()
        ]
        want = [v for v in ious if not math.isnan(v)]
        assert best[j] == pytest.approx(max(want, default=math.nan), nan_ok=1)
