import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import (
    energy_distance_terms,
    generalized_energy_distance,
)

from .. import brute_force as bf


@settings(max_examples=60, deadline=None)
@given(
    seed=bf.seeds,
    s=st.integers(1, 5),
    a=st.integers(1, 4),
    k=st.integers(1, 4),
    absent=st.sampled_from(['skip', 'one']),
    ignore=st.sampled_from([None, 255]),
    weighted=st.booleans(),
)
def test_equals_brute_force(seed, s, a, k, absent, ignore, weighted):
    x = bf.maps(s, k, seed=seed)
    y = bf.maps(a, k, ignore=ignore, seed=seed + 1)
    if ignore:
        y[:, 0] = 255  # a row that every label ignores
    classes = list(range(seed % k, k))
    weights = np.random.default_rng(seed).random(a) if weighted else None
    terms = energy_distance_terms(
        x,
        y,
        num_classes=k,
        classes=classes,
        absent=absent,
        label_weights=None if weights is None else torch.tensor(weights),
    )
    weights = [1.0] * a if weights is None else weights
    want = bf.ged_terms(x, y, weights, classes, 255, absent)
    np.testing.assert_allclose(terms, want, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=bf.seeds,
    a=st.integers(1, 4),
    k=st.integers(1, 3),
    absent=st.sampled_from(['skip', 'one']),
    weighted=st.booleans(),
)
def test_unlabelled_and_disjoint_labels(seed, a, k, absent, weighted):
    x = bf.maps(3, k, seed=seed)
    y = bf.blank_some(bf.maps(a, k, ignore=255, seed=seed + 1), seed)
    weights = np.random.default_rng(seed).random(a) if weighted else np.ones(a)
    terms = energy_distance_terms(
        x,
        y,
        num_classes=k,
        absent=absent,
        label_weights=torch.tensor(weights),
    )
    want = bf.ged_terms(x, y, weights, range(k), 255, absent)
    np.testing.assert_allclose(terms, want, atol=1e-12)


def test_annotators_who_labelled_nothing_change_no_score():
    x = torch.zeros(2, 3, 3, dtype=torch.uint8)
    y = torch.ones(1, 3, 3, dtype=torch.uint8)
    nothing = torch.full((3, 3, 3), 255, dtype=torch.uint8)
    wrong = generalized_energy_distance(x, y, **lidc)
    assert wrong == 2
    with_them = generalized_energy_distance(x, torch.cat([y, nothing]), **lidc)
    assert with_them == wrong
    assert generalized_energy_distance(x, nothing, **lidc).isnan()


lidc = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}


@settings(max_examples=60, deadline=None)
@given(seed=bf.seeds, s=st.integers(1, 6), a=st.integers(1, 5))
def test_properties_of_the_foreground_distance(seed, s, a):
    x, y = bf.maps(s, 2, seed=seed), bf.maps(a, 2, seed=seed + 1)
    ged = generalized_energy_distance(x, y, **lidc)
    assert ged >= -1e-12  # the Jaccard distance is of negative type
    swapped = generalized_energy_distance(y, x, **lidc)
    shuffled = generalized_energy_distance(x.flip(0), y.flip(0), **lidc)
    torch.testing.assert_close(ged, swapped)
    torch.testing.assert_close(ged, shuffled)
    same = generalized_energy_distance(x, x.flip(0), **lidc)
    assert abs(same) < 1e-12
    repeated = generalized_energy_distance(x.repeat(3, 1, 1), y, **lidc)
    torch.testing.assert_close(ged, repeated)


def test_weights_are_repetitions():
    x, y = bf.maps(3, 3, seed=3), bf.maps(2, 3, ignore=255, seed=4)
    weighted = generalized_energy_distance(
        x, y, num_classes=3, label_weights=torch.tensor([3.0, 1.0])
    )
    repeated = generalized_energy_distance(x, y[[0, 0, 0, 1]], num_classes=3)
    torch.testing.assert_close(weighted, repeated)


def test_image_without_a_pair_has_no_score():
    zeros = torch.zeros(2, 3, 3, dtype=torch.uint8)
    options = {'num_classes': 2, 'classes': (1,)}
    assert generalized_energy_distance(zeros, zeros, **options).isnan()
    # the labels have the class, so only E d(s, s') is empty
    ged = generalized_energy_distance(zeros, zeros + 1, **options)
    assert ged.isnan()
    terms = energy_distance_terms(zeros, zeros + 1, **options)
    assert terms.cross == 1 and terms.labels == 0


def test_several_images_at_once():
    x = torch.stack([bf.maps(3, 3, seed=i) for i in range(3)])
    y = torch.stack([bf.maps(2, 3, ignore=255, seed=i + 5) for i in range(3)])
    w = torch.tensor([[1.0, 2.0], [1.0, 0.0], [0.5, 0.5]])
    got = generalized_energy_distance(x, y, num_classes=3, label_weights=w)
    for i in range(3):
        one = generalized_energy_distance(
            x[i], y[i], num_classes=3, label_weights=w[i]
        )
        torch.testing.assert_close(got[i], one)


def test_ignore_index_that_is_also_a_class():
    # the label's 0 is void, a sample's 0 is a prediction like any other
    x, y = torch.tensor([[[0, 1, 2]]]), torch.tensor([[[0, 1, 1]]])
    terms = energy_distance_terms(x, y, num_classes=3, ignore_index=0)
    assert terms.cross.item() == pytest.approx(1 - (0.5 + 0) / 2)


@pytest.mark.parametrize(
    ('weights', 'message'),
    [([1.0], r'\(1,\)'), ([-1.0, 2.0], '>= 0'), ([0.0, 0.0], 'positive')],
)
def test_bad_weights(weights, message):
    x = bf.maps(2, 2)
    with pytest.raises(ValueError, match=f'label_weights.*{message}'):
        generalized_energy_distance(
            x, x, num_classes=2, label_weights=torch.tensor(weights)
        )


def test_bad_maps():
    x = bf.maps(2, 2)
    with pytest.raises(ValueError, match=r'samples.*\[255\]'):
        generalized_energy_distance(x + 255 - x, x, num_classes=2)
    with pytest.raises(ValueError, match='samples'):
        generalized_energy_distance(x[:0], x, num_classes=2)
    with pytest.raises(ValueError, match='labels'):
        generalized_energy_distance(x, x[:0], num_classes=2)
    with pytest.raises(ValueError, match=r'samples.*float'):
        generalized_energy_distance(x.float(), x, num_classes=2)
    with pytest.raises(ValueError, match=r'labels.*ndarray'):
        generalized_energy_distance(x, x.numpy(), num_classes=2)
    with pytest.raises(ValueError, match='leading image'):
        generalized_energy_distance(x[None], x, num_classes=2)
