"""GED and HM-IoU against brute force."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import (
    best_match_iou,
    ged,
    ged_terms,
    hm_iou,
    pairwise_iou,
)
from mmcar.utils import matching
from mmcar.utils.errors import UserError

from .. import brute_force as bf

LIDC = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}
ROWS = ((0, 2, 0.25), (1, 3, 0.5))


@settings(max_examples=80)
@given(
    seed=bf.seeds,
    s=st.integers(1, 5),
    a=st.integers(1, 4),
    k=st.integers(1, 4),
    absent=st.sampled_from(['skip', 'one']),
    ignore=st.sampled_from([None, 255]),
    blank=st.booleans(),
    weighted=st.booleans(),
)
def test_equals_brute_force(seed, s, a, k, absent, ignore, blank, weighted):
    x = bf.maps(s, k, seed=seed)
    y = bf.maps(a, k, ignore=ignore, seed=seed + 1)
    if ignore:
        y[:, 0] = 255  # a row that every label ignores
    if blank:
        y = bf.blank_some(y, seed)
    classes = list(range(seed % k, k))
    weights = np.random.default_rng(seed).random(a) if weighted else None
    how = dict(num_classes=k, classes=classes, absent=absent)
    terms = ged_terms(x, y, label_weights=weights, **how)
    weights = [1.0] * a if weights is None else weights
    want = bf.ged_terms(x, y, weights, classes, 255, absent)
    np.testing.assert_allclose(terms, want, atol=1e-12)


@settings(max_examples=40)
@given(seed=bf.seeds, s=st.integers(1, 6), a=st.integers(1, 5))
def test_properties_of_the_foreground_distance(seed, s, a):
    x, y = bf.maps(s, 2, seed=seed), bf.maps(a, 2, seed=seed + 1)
    found = ged(x, y, **LIDC)
    assert found >= -1e-12  # the Jaccard distance is of negative type
    assert abs(ged(x, x.flip(0), **LIDC)) < 1e-12
    for same in ((y, x), (x.flip(0), y.flip(0)), (x.repeat(3, 1, 1), y)):
        torch.testing.assert_close(ged(*same, **LIDC), found)


@pytest.mark.parametrize('absent', ['skip', 'one'])
def test_weights_are_repetitions(absent):
    number = torch.tensor([1, 4, 0, 3])
    x, y = bf.maps(4, 4, seed=1), bf.maps(4, 4, ignore=255, seed=2)
    how = dict(num_classes=4, absent=absent)
    more = x.repeat_interleave(number, 0)
    labels = y.repeat_interleave(number + 1, 0)
    weighted = how | dict(sample_weights=2.0 * number)
    found = ged_terms(x, y, label_weights=number + 1, **weighted)
    torch.testing.assert_close(found, ged_terms(more, labels, **how))
    assert not torch.allclose(found.ged, ged(x, y, **how))
    found = hm_iou(x, y[:3], **weighted)
    torch.testing.assert_close(found, hm_iou(more, y[:3], **how))
    assert not torch.allclose(found, hm_iou(x, y[:3], **how))


def test_ignore_index_that_is_also_a_class():
    # the label's 0 is void, a sample's 0 is a prediction like any other
    x, y = torch.tensor([[[0, 1, 2]]]), torch.tensor([[[0, 1, 1]]])
    terms = ged_terms(x, y, num_classes=3, ignore_index=0)
    assert terms.cross.item() == pytest.approx(1 - (0.5 + 0) / 2)


def random_flips(n, rng):
    ids = rng.permutation(2 * n + 2)[: 2 * n]
    probs = rng.choice([0, 1, 0.25, 0.5, 0.9], n)
    return [
        (int(c), int(t), float(p))
        for c, t, p in zip(ids[:n], ids[n:], probs, strict=True)
    ]


@settings(max_examples=40)
@given(
    seed=bf.seeds,
    s=st.integers(1, 4),
    n=st.integers(1, 4),
    ignore=st.sampled_from([None, 255]),
    twins=st.booleans(),
    blank=st.sampled_from(['', 'x', 'y', 'xy']),
)
def test_flips_equal_enumeration(seed, s, n, ignore, twins, blank):
    k, rng = 2 * n + 2, np.random.default_rng(seed)
    flips = random_flips(n, rng)
    x = bf.maps(s, k, seed=seed)
    label = bf.maps(1, k, ignore=ignore, seed=seed + 1)
    if not twins:
        for c, t, _ in flips:
            label[label == t] = c
    classes = [i for c, t, _ in flips for i in (c, t)]
    other = min({*range(k)} - {*classes})  # nothing that could flip
    for name, maps in (('x', x), ('y', label)):
        if name in blank:
            maps[maps != 255] = other
    number = torch.arange(1, s + 1) % 3
    how = dict(flips=flips, num_classes=k, sample_weights=number)
    got = ged_terms(x, label, **how)
    labels, probs = bf.modes(label[0], flips)
    x = x.repeat_interleave(number, 0)
    want = bf.ged_terms(x, labels, probs, classes, 255, 'skip')
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_many_flips_need_no_enumeration():
    n = 30
    flips = [(i, n + i, 0.5) for i in range(n)]
    label = torch.arange(n).repeat_interleave(4).view(1, 2, 60)
    samples = torch.cat([label, label + n])
    terms = ged_terms(samples, label, flips=flips, num_classes=2 * n)
    # either agrees on a class with probability 1/2; both twins occur else
    assert 0.5 < terms.cross < 0.75 and terms.samples == 0.5


@pytest.mark.parametrize('flips', [None, ROWS])
def test_several_images_at_once(flips):
    a = 1 if flips else 2
    x = torch.stack([bf.maps(3, 4, seed=i) for i in range(3)])
    y = torch.stack([bf.maps(a, 2, ignore=255, seed=i + 5) for i in range(3)])
    how = dict(num_classes=4, flips=flips)
    weights = torch.rand(3, 3)
    got = ged_terms(x, y, sample_weights=weights, **how)
    for i in range(3):
        one = ged_terms(x[i], y[i], sample_weights=weights[i], **how)
        assert [term[i] for term in got] == list(one)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'absent': 'one'}, "delete 'classes'"),
        ({'classes': (1,)}, "delete 'classes'"),
        ({'labels': 2}, r'one base label.*\(2, 5, 7\)'),
        ({'label_weights': [1.0]}, 'one base label'),
        ({'flips': [(0, 1)]}, 'probability'),
        ({'flips': [(0, 5, 0.5)]}, 'from 0 to 3'),
    ],
)
def test_what_flips_do_not_go_with(change, message):
    how = dict(num_classes=4, flips=ROWS) | change
    labels = bf.maps(how.pop('labels', 1), 2)
    with pytest.raises(UserError, match=message):
        ged(bf.maps(2, 4), labels, **how)


@settings(max_examples=40)
@given(
    seed=bf.seeds,
    s=st.integers(1, 7),
    a=st.integers(1, 5),
    ignore=st.sampled_from([None, 255]),
    absent=st.sampled_from(['skip', 'one']),
    transport=st.booleans(),
)
def test_hm_iou_equals_repeated_assignment(
    seed, s, a, ignore, absent, transport
):
    """Without the annotators who labelled nothing."""
    x = bf.maps(s, 2, seed=seed)
    y = bf.maps(a, 2, ignore=ignore, seed=seed + 1)
    if ignore:
        y = bf.blank_some(y, seed)
    weights = torch.ones(s) if transport else None
    how = LIDC | dict(absent=absent)
    got = hm_iou(x, y, sample_weights=weights, **how)
    want = bf.hm_iou(x, y, (1,), 255, absent)
    np.testing.assert_allclose(got, want, atol=1e-9)


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


@settings(max_examples=20)
@given(seed=bf.seeds, absent=st.sampled_from(['skip', 'one']))
def test_best_match(seed, absent):
    x, y = bf.maps(4, 3, seed=seed), bf.maps(3, 3, ignore=255, seed=seed + 1)
    y = bf.blank_some(y, seed)
    how = {'num_classes': 3, 'classes': (1, 2), 'absent': absent}
    best = best_match_iou(x, y, **how)
    for j, label in enumerate(y.numpy()):
        ious = [
            bf.iou(s, label, label != 255, (1, 2), absent) for s in x.numpy()
        ]
        want = [v for v in ious if not math.isnan(v)]
        assert best[j] == pytest.approx(max(want, default=math.nan), nan_ok=1)
