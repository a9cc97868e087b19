import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import (
    best_match_iou,
    decision_iou,
    energy_distance_terms,
    hungarian_matched_iou,
    pairwise_iou,
    sample_diversity,
)
from mmcar.evaluation.functional import hm_iou
from mmcar.utils import matching as assignment

from .. import brute_force as bf

lidc = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}


@settings(max_examples=40, deadline=None)
@given(
    seed=bf.seeds,
    s=st.integers(1, 7),
    a=st.integers(1, 5),
    ignore=st.sampled_from([None, 255]),
    transport=st.booleans(),
)
def test_hm_iou_equals_repeated_assignment(seed, s, a, ignore, transport):
    x, y = (
        bf.maps(s, 2, seed=seed),
        bf.maps(a, 2, ignore=ignore, seed=seed + 1),
    )
    if ignore:
        y = bf.blank_some(y, seed)
    with pytest.MonkeyPatch.context() as patch:
        if transport:
            patch.setattr(hm_iou, '_MAX_REPEATED', 0)
        got = hungarian_matched_iou(x, y, **lidc)
    want = bf.hm_iou(x, y, (1,), 255, 'one')
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_hm_iou_of_large_multiples_builds_no_large_matrix(monkeypatch):
    x, y = bf.maps(101, 2, (9, 9)), bf.maps(97, 2, (9, 9), seed=1)
    sizes = []
    solve = assignment.optimize.linear_sum_assignment
    monkeypatch.setattr(
        assignment.optimize,
        'linear_sum_assignment',
        lambda m, **k: sizes.append(m.shape) or solve(m, **k),
    )
    score = hungarian_matched_iou(x, y, **lidc)  # multiple: 9797
    assert not sizes
    # a coupling of both sets: between the independent and the best pairing
    iou = pairwise_iou(x, y, **lidc)
    best = min(iou.amax(0).mean(), iou.amax(1).mean())
    assert iou.mean() < score <= best + 1e-9


def test_hm_iou_is_not_rectangular():
    y = torch.tensor([[[1, 1, 0, 0]], [[0, 0, 1, 1]]])
    x = y[[0, 0, 0, 1]]  # rectangular matching would score 1
    assert hungarian_matched_iou(x, y, **lidc) == pytest.approx(0.75)


def test_annotators_who_labelled_nothing_are_not_matched():
    y = bf.maps(2, 2, ignore=255)
    nothing = torch.full_like(y, 255)
    x = bf.maps(3, 2, seed=1)
    for options in (lidc, {'num_classes': 2}):
        want = hungarian_matched_iou(x, y, **options)
        got = hungarian_matched_iou(x, torch.cat([nothing, y]), **options)
        assert got == want and not want.isnan()
        assert hungarian_matched_iou(x, nothing, **options).isnan()
        best = best_match_iou(x, torch.cat([nothing, y]), **options)
        assert best[:2].isnan().all() and not best[2:].isnan().any()
        assert decision_iou(x[0], nothing, **options).isnan().all()


def test_hm_iou_skips_images_with_undefined_pairs():
    x = torch.zeros(2, 3, 3, dtype=torch.uint8)
    score = hungarian_matched_iou(x, x, num_classes=2, classes=(1,))
    assert score.isnan()


def test_permutation_and_batches():
    x = torch.stack([bf.maps(6, 3, seed=i) for i in range(2)])
    y = torch.stack([bf.maps(4, 3, seed=9 + i) for i in range(2)])
    got = hungarian_matched_iou(x, y, num_classes=3)
    moved = hungarian_matched_iou(x.flip(1), y.flip(1), num_classes=3)
    torch.testing.assert_close(got, moved)
    one = hungarian_matched_iou(x[1], y[1], num_classes=3)
    torch.testing.assert_close(got[1], one)


@settings(max_examples=20, deadline=None)
@given(seed=bf.seeds, absent=st.sampled_from(['skip', 'one']))
def test_best_match_diversity_and_decision(seed, absent):
    x, y = bf.maps(4, 3, seed=seed), bf.maps(3, 3, ignore=255, seed=seed + 1)
    options = {'num_classes': 3, 'classes': (1, 2), 'absent': absent}
    best = best_match_iou(x, y, **options)
    decision = decision_iou(x[0], y, **options)
    for j, label in enumerate(y.numpy()):
        ious = [
            bf.iou(s, label, label != 255, (1, 2), absent) for s in x.numpy()
        ]
        want = [v for v in ious if not math.isnan(v)]
        np.testing.assert_allclose(best[j], max(want, default=math.nan))
        np.testing.assert_allclose(decision[j], ious[0])
    everywhere = torch.zeros(1, *x.shape[1:], dtype=torch.uint8)
    diversity = sample_diversity(x, **options)
    terms = energy_distance_terms(x, everywhere, **options)
    torch.testing.assert_close(diversity, terms.samples, equal_nan=True)
    both = sample_diversity(torch.stack([x, x]), **options)
    torch.testing.assert_close(both[1], diversity, equal_nan=True)


def test_bad_maps():
    x = bf.maps(2, 2)
    with pytest.raises(ValueError, match=r'decision.*\(5,\)'):
        decision_iou(x[0, :, 0], x, num_classes=2)
    with pytest.raises(ValueError, match=r'samples.*\(0, 5, 7\)'):
        sample_diversity(x[:0], num_classes=2)
