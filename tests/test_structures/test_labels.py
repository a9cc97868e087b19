"""Class flips, label distributions, and areas of classes."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmcar.evaluation import class_shares, floods, max_class_area
from mmcar.structures import (
    ClassFlips,
    add_twins,
    check_predicted,
    label_distribution,
)
from mmcar.utils.errors import UserError
from tests.test_evaluation import brute_force as bf

FLIPS = ((1, 6, 8 / 17), (2, 7, 0.25), (4, 5, 1.0))


@st.composite
def tables(draw):
    """Rows of distinct ids below 12."""
    ids = draw(st.permutations(range(12)))
    count = draw(st.integers(0, 5))
    probs = draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    return [(ids[2 * n], ids[2 * n + 1], p) for n, p in enumerate(probs)]


@settings(max_examples=30)
@given(table=tables(), seed=st.integers(0, 999))
def test_flip_all_and_ids_pixel_by_pixel(table, seed):
    flips = ClassFlips.parse(table, 12)
    label = torch.from_numpy(np.random.default_rng(seed).choice(256, (4, 5)))
    label = label.to(torch.uint8)
    flipped = flips.flip_all(label)
    assert flipped.dtype == label.dtype
    for value, new in zip(label.flatten(), flipped.flatten(), strict=True):
        assert new == {s: t for s, t, _ in table}.get(int(value), value)
    assert flips.ids == [i for row in table for i in row[:2]]
    assert flips.twins == [twin for _, twin, _ in table]
    assert len(flips) == len(table) and [tuple(r) for r in flips] == table


@settings(max_examples=30)
@given(table=tables(), seed=st.integers(0, 999))
def test_apply_is_the_mean_over_all_modes(table, seed):
    flips = ClassFlips.parse(table, 12)
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(12), 3).T  # (K, pixels)
    for _, twin, _ in table:
        probs[twin] = 0  # twins exist by flipping only
    expected = np.zeros_like(probs)
    for state in np.ndindex(*[2] * len(table)):
        weight, moved = 1.0, probs.copy()
        for on, (source, twin, p) in zip(state, table, strict=True):
            weight *= p if on else 1 - p
            if on:
                moved[twin], moved[source] = probs[source], 0
        expected += weight * moved
    result = flips.apply(torch.from_numpy(probs))
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


def test_draw_gives_every_mode_as_often_as_it_is_likely():
    np.random.seed(0)
    flips = ClassFlips.parse(FLIPS)
    label = np.arange(256, dtype=np.uint8).reshape(16, 16)
    draws, seen = 3000, Counter()
    for _ in range(draws):
        flipped = flips.draw(label).ravel()
        on = [row for row in FLIPS if flipped[row[0]] == row[1]]
        wanted = np.arange(256)
        for source, twin, _ in on:
            wanted[source] = twin
        assert (flipped == wanted).all()
        seen[tuple(row in on for row in FLIPS)] += 1
    for state in np.ndindex(2, 2, 2):
        pairs = zip(state, FLIPS, strict=True)
        p = np.prod([row[2] if on else 1 - row[2] for on, row in pairs])
        error = np.sqrt(p * (1 - p) / draws)
        assert abs(seen[tuple(map(bool, state))] / draws - p) <= 4 * error


@pytest.mark.parametrize(
    ('table', 'message'),
    [
        (((0, 1, float('nan')),), 'probability nan'),
        (((0, 9, 0.5),), 'ids from 0 to 4'),
        (((0.5, 1, 0.5),), 'ids from 0 to 4'),
        (((0, 1, 0.5), (1, 2, 0.5)), 'each id once'),
        (((0, 1),), r'\(0, 1\)'),
    ],
)
def test_impossible_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        ClassFlips.parse(table, num_classes=5)


def test_twins_get_names_colours_and_the_next_ids():
    palette = [[0, 1, 2], [200] * 3, [9] * 3]
    meta = {'classes': ('a', 'b', 'c'), 'palette': palette}
    result = add_twins(meta, {'c': 0.5, 'a': 0.25})
    assert result['classes'] == ('a', 'b', 'c', 'c2', 'a2')
    assert result['class_flips'] == ((2, 3, 0.5), (0, 4, 0.25))
    # The corners of the cube of colours that are furthest from greys.
    assert result['palette'][:3] == meta['palette']
    assert result['palette'][3:] == [[0, 0, 255], [255, 0, 0]]
    ClassFlips.parse(result['class_flips'], 5)


def test_predictions_for_other_classes():
    meta = dict(classes=['a', 'b', 'c', 'a2'], class_flips=[(0, 3, 0.5)])
    for number in (3, 4):  # without and with twins
        check_predicted(number, meta, 'B')
    for number in (2, 5):
        with pytest.raises(UserError, match=rf'B predicts {number}.*3 or.*4:'):
            check_predicted(number, meta, 'B')
    for other in (None, {}, dict(classes=['a', 'b'], class_flips=())):
        check_predicted(7, other, 'B')  # a task of its own


def make_sample(labels, flips=None):
    sample = SegDataSample(gt_sem_segs=PixelData(data=labels))
    if flips:
        sample.set_metainfo({'class_flips': flips})
    return sample


def brute_force(labels, num_classes, flips):
    height, width = labels.shape[1:]
    probs = torch.full((num_classes, height, width), 1 / num_classes)
    valid = torch.zeros(height, width, dtype=torch.bool)
    for y, x in np.ndindex(height, width):
        votes = [v for v in labels[:, y, x].tolist() if v != 255]
        if not votes:
            continue
        valid[y, x] = True
        p = [votes.count(k) / len(votes) for k in range(num_classes)]
        for c, t, q in flips:
            p[t], p[c] = q * p[c], (1 - q) * p[c]
        probs[:, y, x] = torch.tensor(p)
    return probs, valid


@pytest.mark.parametrize('flips', [(), ((0, 3, 0.25), (1, 4, 7 / 17))])
def test_distribution_by_brute_force(flips):
    torch.manual_seed(0)
    values = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
    labels = values[torch.randint(4, (3, 7, 9))]
    labels[:, 0, 0] = 255
    expected, expected_valid = brute_force(labels, 5, flips)
    sample = make_sample(labels, flips)
    for form in (sample, {**sample.to_dict(), 'class_flips': flips}):
        probs, valid = label_distribution(form, 5)
        torch.testing.assert_close(probs, expected)
        assert torch.equal(valid, expected_valid)
    torch.testing.assert_close(probs.sum(0), torch.ones(7, 9))


def test_missing_and_impossible_labels_are_explained():
    with pytest.raises(ValueError, match='keep_all=True'):
        label_distribution(SegDataSample(), 2)
    labels = torch.full((1, 2, 2), 7, dtype=torch.uint8)
    with pytest.raises(ValueError, match='label 7 is not one of the 2'):
        label_distribution(make_sample(labels), 2)


def brute_force_share(label_map, class_id):
    rows = label_map.tolist()
    hits = sum(value == class_id for row in rows for value in row)
    return hits / (len(rows) * len(rows[0]))


def test_shares_and_floods_equal_counting_pixels():
    annotations = [bf.maps(3, 4, ignore=255, seed=i) for i in range(5)]
    samples = torch.cat([bf.maps(9, 4, seed=9), annotations[1][:1]])
    samples[3] = 2
    samples[4] = 0
    largest = [
        max(brute_force_share(m, k) for maps in annotations for m in maps)
        for k in range(4)
    ]
    found = max_class_area(annotations, 4)
    assert found.tolist() == largest
    for classes in (None, (1, 2)):
        ids = classes or range(4)
        expected = [
            any(brute_force_share(m, k) > largest[k] for k in ids)
            for m in samples
        ]
        assert floods(samples, found, classes).tolist() == expected
    assert expected[3] and not expected[4] and not expected[-1]


def test_ignored_pixels_belong_to_no_class():
    labels = torch.tensor([[[0, 255], [1, -1]]])
    assert class_shares(labels, 2).tolist() == [[0.25, 0.25]]
    assert class_shares(labels.byte(), 300)[0, 255] == 0.5  # -1 wraps


def test_a_twin_may_cover_as_much_as_its_class():
    labels = torch.tensor([[[0, 0, 0, 1]]])
    flips = ClassFlips.parse([(0, 2, 0.5)])
    assert max_class_area([labels], 3, flips).tolist() == [0.75, 0.25, 0.75]
