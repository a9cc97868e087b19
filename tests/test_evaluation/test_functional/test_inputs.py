"""A sample of weight n counts as much as n equal samples."""

import pytest
import torch

from mmcar.evaluation import (
    find_flip_states,
    find_hypotheses,
    flip_energy_terms,
    generalized_energy_distance,
    hungarian_matched_iou,
    sample_diversity,
)
from mmcar.structures import ClassFlips
from mmcar.utils.errors import UserError

from .. import brute_force as bf

REPEATS = torch.tensor([1, 4, 0, 3])
FLIPS = ((0, 2, 0.25), (1, 3, 0.5))


def weighted_and_repeated(k=4):
    samples = bf.maps(4, k, seed=1)
    return samples, samples.repeat_interleave(REPEATS, 0)


@pytest.mark.parametrize('absent', ['skip', 'one'])
def test_distances_and_matchings(absent):
    samples, repeated = weighted_and_repeated()
    labels = bf.maps(3, 4, ignore=255, seed=2)
    how = dict(num_classes=4, absent=absent)
    for score in (
        generalized_energy_distance,
        hungarian_matched_iou,
        lambda x, y, **kwargs: sample_diversity(x, **kwargs),
    ):
        got = score(samples, labels, **how, sample_weights=2.0 * REPEATS)
        torch.testing.assert_close(got, score(repeated, labels, **how))
        plain = score(samples, labels, **how)
        assert not torch.allclose(got, plain)
        ones = torch.ones(4)
        again = score(samples, labels, **how, sample_weights=ones)
        torch.testing.assert_close(again, plain)


def test_class_flips():
    samples, repeated = weighted_and_repeated()
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    got = flip_energy_terms(
        samples, label, FLIPS, num_classes=4, sample_weights=REPEATS
    )
    expected = flip_energy_terms(repeated, label, FLIPS, num_classes=4)
    torch.testing.assert_close(got, expected)
    table = ClassFlips.parse(FLIPS, 4)
    states = find_flip_states(samples, table, REPEATS)
    for got, want in zip(
        states, find_flip_states(repeated, table), strict=True
    ):
        assert got == pytest.approx(want)


def test_weights_of_every_image():
    samples = torch.stack([bf.maps(4, 3, seed=i) for i in (1, 2)])
    labels = torch.stack([bf.maps(2, 3, seed=i) for i in (3, 4)])
    weights = torch.rand(2, 4)
    for score in (generalized_energy_distance, hungarian_matched_iou):
        both = score(samples, labels, num_classes=3, sample_weights=weights)
        for i in range(2):
            one = score(
                samples[i],
                labels[i],
                num_classes=3,
                sample_weights=weights[i],
            )
            torch.testing.assert_close(both[i], one)


def test_hypotheses():
    samples = torch.zeros(4, 6, 6, dtype=torch.long)
    samples[1:3, :3] = 1
    samples[3, 3:] = 1
    found = find_hypotheses(
        samples, samples[0], num_classes=2, sample_weights=REPEATS
    )
    shares = {h.members: h.probability for h in found}
    assert shares == {(1, 2): 4 / 8, (3,): 3 / 8, (0,): 1 / 8}
    assert [h.probability for h in found] == [4 / 8, 3 / 8, 1 / 8]
    assert found[0].representative == 1


@pytest.mark.parametrize(
    ('weights', 'message'),
    [
        ([1.0, 2.0], r'sample_weights: expected shape \(4,\)'),
        ([1.0, -1.0, 1.0, 1.0], 'sample_weights: expected finite'),
        ([0.0] * 4, 'sample_weights: expected finite'),
    ],
)
def test_bad_weights(weights, message):
    samples, labels = bf.maps(4, 3), bf.maps(2, 3)
    for score in (generalized_energy_distance, hungarian_matched_iou):
        with pytest.raises(UserError, match=message):
            score(samples, labels, num_classes=3, sample_weights=weights)
