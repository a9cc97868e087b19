import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import (
    CalibrationBins,
    flip_energy_distance,
    flip_energy_terms,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
    generalized_energy_distance,
    score_sums,
)
from mmcar.structures import ClassFlips
from mmcar.utils.errors import UserError

from .. import brute_force as bf


def random_flips(n, rng):
    ids = rng.permutation(2 * n + 2)[: 2 * n]
    probs = rng.choice([0, 1, 0.25, 0.5, 0.9], n)
    return [
        (int(c), int(t), float(p))
        for c, t, p in zip(ids[:n], ids[n:], probs, strict=True)
    ]


@settings(max_examples=50, deadline=None)
@given(
    seed=bf.seeds,
    s=st.integers(1, 4),
    n=st.integers(1, 4),
    ignore=st.sampled_from([None, 255]),
    twins=st.booleans(),
)
def test_equals_enumeration(seed, s, n, ignore, twins):
    k, rng = 2 * n + 2, np.random.default_rng(seed)
    flips = random_flips(n, rng)
    x = bf.maps(s, k, seed=seed)
    label = bf.maps(1, k, ignore=ignore, seed=seed + 1)[0]
    if not twins:
        for c, t, _ in flips:
            label[label == t] = c
    got = flip_energy_terms(x, label, flips=flips, num_classes=k)
    labels, probs = bf.modes(label, flips)
    classes = [i for c, t, _ in flips for i in (c, t)]
    want = bf.ged_terms(x, labels, probs, classes, 255, 'skip')
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_cityscapes24():
    flips = [(1, 19, 8 / 17), (11, 20, 7 / 17), (13, 21, 6 / 17)]
    flips += [(8, 22, 5 / 17), (0, 23, 4 / 17)]
    x = bf.maps(16, 24, (32, 64))
    label = bf.maps(1, 19, (32, 64), ignore=255, seed=7)[0]
    got = flip_energy_distance(x, label, flips=flips, num_classes=24)
    labels, probs = bf.modes(label, flips)
    assert len(labels) == 32
    want = generalized_energy_distance(
        x,
        labels,
        num_classes=24,
        classes=[0, 1, 8, 11, 13, 19, 20, 21, 22, 23],
        label_weights=torch.tensor(probs, dtype=torch.float64),
    )
    assert abs(got - want) < 1e-9


def test_rows_and_a_table_are_the_same():
    rows = [(0, 2, 0.3), (1, 3, 0.6)]
    x, label = bf.maps(3, 4), bf.maps(1, 2, ignore=255, seed=5)[0]
    by_rows = flip_energy_distance(x, label, flips=rows, num_classes=4)
    table = ClassFlips.parse(rows)
    by_table = flip_energy_distance(x, label, flips=table, num_classes=4)
    assert torch.equal(by_rows, by_table)


def test_a_label_without_labelled_pixels_has_no_score():
    label = torch.full((2, 2), 255)
    x = torch.zeros(1, 2, 2, dtype=torch.long)
    terms = flip_energy_terms(x, label, flips=[(0, 2, 0.5)], num_classes=3)
    assert all(term.isnan() for term in terms)


def test_perfect_samples_of_one_flip_score_zero():
    label = torch.tensor([[0, 0, 1]])
    twin = torch.tensor([[2, 2, 1]])
    samples = torch.stack([label, twin, label, label])
    ged = flip_energy_distance(
        samples, label, flips=[(0, 2, 0.25)], num_classes=3
    )
    assert abs(ged) < 1e-12


def test_image_without_switchable_classes_has_no_score():
    label = torch.ones(2, 2, dtype=torch.uint8)
    flips = [(0, 2, 0.5)]
    ged = flip_energy_distance(label[None], label, flips=flips, num_classes=3)
    assert ged.isnan()
    # only the label has one: the samples' own expectation is empty
    terms = flip_energy_terms(
        label[None], label * 0, flips=flips, num_classes=3
    )
    assert terms.cross == 1 and terms.samples.isnan()


def test_many_flips_need_no_enumeration():
    n = 30
    flips = [(i, n + i, 0.5) for i in range(n)]
    label = torch.arange(n).repeat_interleave(4).view(2, 60)
    samples = torch.stack([label, label + n])
    terms = flip_energy_terms(samples, label, flips=flips, num_classes=2 * n)
    # either agrees on a class with probability 1/2; both twins occur else
    assert 0.5 < terms.cross < 0.75 and terms.samples == 0.5


def test_several_images_at_once():
    flips = [(0, 2, 0.3), (1, 3, 0.6)]
    x = torch.stack([bf.maps(3, 4, seed=i) for i in range(2)])
    y = torch.stack([bf.maps(1, 2, ignore=255, seed=5 + i)[0] for i in (0, 1)])
    got = flip_energy_distance(x, y, flips=flips, num_classes=4)
    one = flip_energy_distance(x[1], y[1], flips=flips, num_classes=4)
    assert got.shape == (2,) and torch.equal(got[1], one)


@pytest.mark.parametrize(
    ('flips', 'message'),
    [
        ([], 'at least one'),
        ([(0, 1)], 'probability'),
        ([(0, 5, 0.5)], 'from 0 to 3'),
        ([(0, 1, 0.5), (1, 2, 0.5)], 'each id once'),
        ([(0, 1, 1.5)], 'from 0 to 1'),
    ],
)
def test_bad_tables(flips, message):
    x = bf.maps(2, 4)
    with pytest.raises(UserError, match=f'flip.*: .*{message}'):
        flip_energy_distance(x, x[0], flips=flips, num_classes=4)


def test_flipping_labels_count_with_their_probability():
    """Weights equal the mean over many drawn labels."""
    flips = [(0, 2, 0.25), (1, 3, 0.5)]
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    probs = torch.rand(4, 5, 7).softmax(0)
    modes, weights = bf.modes(label, flips)
    drawn = modes.repeat_interleave(
        torch.tensor(weights).mul(8).round().int(), dim=0
    )  # every mode as often as its probability, out of 8
    many, exact = CalibrationBins(), CalibrationBins()
    many.update(probs, drawn)
    labels, weights = flip_observations(label, flips)
    exact.update(probs, labels, weights)
    torch.testing.assert_close(many.sums, 8 * exact.sums)
    torch.testing.assert_close(
        torch.stack(score_sums(probs, drawn)),
        8 * torch.stack(score_sums(probs, labels, weights=weights)),
    )


def test_offsets():
    flips = [(0, 2, 0.25), (1, 3, 0.5), (4, 5, 0.5)]
    label = torch.tensor([[0, 0, 1, 255]])
    probs = torch.zeros(6, 1, 4)
    probs[2, 0] = torch.tensor([0.5, 0.25, 1.0, 1.0])
    probs[3, 0] = torch.tensor([1.0, 1.0, 0.25, 1.0])
    sums = flip_probability_sums(probs, label, flips=flips)
    assert sums.tolist() == [[0.75, 2], [0.25, 1], [0, 0]]
    offsets = flip_offsets(sums + sums, flips)
    assert offsets[:2].tolist() == [0.125, 0.25] and offsets[2].isnan()
    mask = torch.tensor([[False, True, True, True]])
    sums = flip_probability_sums(probs, label, flips=flips, mask=mask)
    assert sums[0].tolist() == [0.25, 1]


def test_offsets_of_several_images():
    flips = [(0, 2, 0.25), (1, 3, 0.5)]
    labels = bf.maps(3, 2, ignore=255, seed=4)
    probs = torch.rand(3, 4, 5, 7)
    mask = torch.rand(3, 5, 7) < 0.5
    got = flip_probability_sums(probs, labels, flips=flips, mask=mask)
    for i, sums in enumerate(got):
        for (c, twin, _), (said, number) in zip(flips, sums, strict=True):
            where = (labels[i] == c) & mask[i]
            assert number == where.sum()
            torch.testing.assert_close(
                said, probs[i, twin][where].double().sum()
            )
    each = [flip_offsets(sums, flips) for sums in got]
    torch.testing.assert_close(
        flip_offsets(got, flips), torch.stack(each), equal_nan=True
    )


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'probs': torch.full((4, 3, 3), 2.0)}, 'not logits'),
        ({'label': torch.zeros(3, 3)}, 'label: .*integer'),
        ({'label': torch.full((3, 3), 4)}, r'label: .*\[4\]'),
        ({'label': torch.zeros(1, 3, 3).int()}, r'label: .*\(1, 3, 3\)'),
        ({'mask': torch.ones(3, 4).bool()}, r'mask: .*\(3, 4\)'),
        ({'flips': [(0, 4, 0.5)]}, 'flip of 0 to 4: .*from 0 to 3'),
    ],
)
def test_bad_inputs(change, message):
    inputs = {
        'probs': torch.rand(4, 3, 3),
        'label': torch.zeros(3, 3).int(),
        'flips': [(0, 2, 0.5)],
    }
    with pytest.raises(ValueError, match=message):
        flip_probability_sums(**inputs | change)
