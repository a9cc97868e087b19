"""The fit against brute force and against fields that are known."""

import itertools
import math

import numpy as np
import pytest
import torch

from mmcar.evaluation.functional import fit_field
from mmcar.evaluation.functional.agreement import (
    DIRECTIONS,
    disputed_covariance,
)
from mmcar.models import GumbelSampler, IndependentPixelSampler
from mmcar.utils.errors import UserError

SIZE = 32


def annotations(sampler, images=30, annotators=8, seed=0):
    """Label maps that a sampler draws from smooth, random F."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(*[torch.arange(SIZE) / SIZE] * 2, indexing='ij')
    for _ in range(images):
        a, b, c = torch.randn(3, generator=generator) * 3
        logit = a * (x - 0.5) + b * (y - 0.5) + 0.3 * c
        log_probs = torch.stack((-logit, logit))[None].log_softmax(1)
        z = torch.randn(annotators, 1, sampler.noise_size, generator=generator)
        state = sampler.encode(torch.zeros(1, 3, SIZE, SIZE), log_probs)
        yield sampler.sample_labels(state, z)[:, 0]


def smoothed(votes, y, x):
    """Mean over annotators and up to nine pixels."""
    window = votes[:, max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
    return window.mean().item()


def test_sums_are_those_of_a_loop_over_pairs_of_pixels_and_annotators():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (4, 5, 6), generator=generator)
    labels[:, 3:] = 2
    labels[1, 0, 0] = 255
    found = disputed_covariance(labels, 3, 3)
    expected = torch.zeros(4, 3, 4, dtype=torch.float64)
    for i, (down, right) in enumerate(DIRECTIONS):
        for step, y, x in itertools.product((1, 2, 3), range(5), range(6)):
            v, u = y + step * down, x + step * right
            if not (v < 5 and 0 <= u < 6):
                continue
            if 255 in labels[:, y, x] or 255 in labels[:, v, u]:
                continue
            for k in range(3):
                votes = (labels == k).double()
                p, q = smoothed(votes, y, x), smoothed(votes, v, u)
                if not (0.2 <= p <= 0.8 and 0.2 <= q <= 0.8):
                    continue
                if abs(p - q) > 0.25:
                    continue
                own = votes[:, y, x], votes[:, v, u]
                if any(len(one.unique()) == 1 for one in own):
                    continue
                same, other = [], []
                for a, b in itertools.product(range(4), range(4)):
                    value = votes[a, y, x] * votes[b, v, u]
                    (same if a == b else other).append(value.item())
                same, other = np.mean(same), np.mean(other)
                one, two = votes[:, y, x], votes[:, v, u]
                middle = (one.mean() + two.mean()).item() / 2
                # Different annotators: squares of means without bias.
                gap = np.mean(
                    [
                        (one[a] - two[a]) * (one[b] - two[b])
                        for a, b in itertools.permutations(range(4), 2)
                    ]
                )
                own = [same - other, middle - other, gap, 1]
                expected[i, step - 1] += torch.tensor(own).double()
    torch.testing.assert_close(found, expected)
    assert (expected[:, :, 3] > 0).any()


@pytest.mark.parametrize(('length', 'common'), [(3.0, 0.0), (5.0, 0.5)])
def test_the_numbers_of_a_field_are_found_again(length, common):
    sampler = GumbelSampler(2, correlation_length=length, common=common)
    fit = fit_field(annotations(sampler), 2, max_distance=24)
    assert fit.correlation_length == pytest.approx(length, rel=0.25)
    assert fit.common == pytest.approx(common, abs=0.15)
    near = fit.correlations[fit.distances == 1].mean()
    expected = common + (1 - common) * math.exp(-0.5 / length**2)
    assert near == pytest.approx(expected, abs=0.1)


def test_one_number_per_class_is_found_again():
    fit = fit_field(annotations(GumbelSampler(2)), 2, max_distance=24)
    assert fit.correlation_length is None
    assert fit.correlations.nan_to_num(1.0).min() > 0.95


def test_independent_pixels_are_found_again():
    fit = fit_field(annotations(IndependentPixelSampler(2)), 2, 24)
    assert fit.correlation_length < 1
    assert fit.common < 0.05


def test_edges_that_all_agree_on_change_nothing():
    """Smoothed, they look disputed; there are more of them than of dispute."""
    sampler = GumbelSampler(2, correlation_length=4.0, common=0.5)
    images = list(annotations(sampler, images=10))
    stripes = torch.zeros(8, SIZE, SIZE, dtype=torch.long)
    stripes[:, :, ::2] = 1
    fit = fit_field(images, 2, max_distance=16)
    again = fit_field([*images, *[stripes] * 10], 2, max_distance=16)
    assert again[:2] == pytest.approx(fit[:2])
    assert again.correlation_length == pytest.approx(4.0, rel=0.3)


def test_without_dispute_there_is_nothing_to_fit():
    same = torch.zeros(3, 8, 8, dtype=torch.long)
    same[:, :4] = 1
    with pytest.raises(UserError, match='never disagree'):
        fit_field([same & False, same[:1]], 2, 6)
    with pytest.raises(UserError, match='max_distance=2'):
        fit_field([same], 2, 2)
