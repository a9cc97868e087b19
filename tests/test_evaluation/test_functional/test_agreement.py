"""The fit against brute force and against fields that are known."""

import itertools
import math

import numpy as np
import pytest
import torch

from mmcar.evaluation.functional import fit_field
from mmcar.evaluation.functional.agreement import DIRECTIONS, outline_sums
from mmcar.models import GumbelSampler, IndependentPixelSampler
from mmcar.utils.errors import UserError

SIZE = 48


def plane(y, x, generator):
    a, b, c = torch.randn(3, generator=generator) * 3
    return a * (x / SIZE - 0.5) + b * (y / SIZE - 0.5) + 0.3 * c


def soft_disc(y, x, generator):
    """Nobody doubts its middle; the outline is open for some 10 pixels."""
    radius = SIZE * (0.15 + 0.15 * torch.rand((), generator=generator))
    middle = SIZE * (0.35 + 0.3 * torch.rand(2, generator=generator))
    return (radius - torch.hypot(y - middle[0], x - middle[1])) / 3


def annotations(sampler, images=30, annotators=8, seed=0, scene=plane):
    """Label maps that a sampler draws from smooth, random F."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(*[torch.arange(float(SIZE))] * 2, indexing='ij')
    for _ in range(images):
        logit = scene(y, x, generator)
        log_probs = torch.stack((-logit, logit))[None].log_softmax(1)
        z = torch.randn(annotators, 1, sampler.noise_size, generator=generator)
        state = sampler.encode(torch.zeros(1, 3, SIZE, SIZE), log_probs)
        yield sampler.sample_labels(state, z)[:, 0]


def patch(votes, y, x):
    """Up to nine pixels around one."""
    return votes[..., max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]


def on_outline(votes, o, y, x):
    """Whether an annotator's outline runs here, not shared by all."""
    share = patch(votes[o], y, x).mean().item()
    shared = (patch(votes, y, x) == patch(votes[:1], y, x)).all()
    return 0.2 <= share <= 0.8 and not shared


def test_sums_are_those_of_a_loop_over_pairs_of_pixels_and_annotators():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (4, 5, 7), generator=generator)
    labels[:, 3:] = 2
    labels[1, 0, 0] = 255
    labels[:, :, 5], labels[:, :, 6] = 0, 1  # a border that all share
    found = outline_sums(labels, 3, 3)
    expected = torch.zeros(4, 3, 5, dtype=torch.float64)
    for i, (down, right) in enumerate(DIRECTIONS):
        for step, y, x in itertools.product((1, 2, 3), range(5), range(7)):
            v, u = y + step * down, x + step * right
            if not (v < 5 and 0 <= u < 7):
                continue
            if 255 in labels[:, y, x] or 255 in labels[:, v, u]:
                continue
            for k, o in itertools.product(range(3), range(4)):
                votes = (labels == k).double()
                if not on_outline(votes, o, y, x):
                    continue
                if not on_outline(votes, o, v, u):
                    continue
                others = [a for a in range(4) if a != o]
                one, two = votes[:, y, x].tolist(), votes[:, v, u].tolist()
                same = [one[a] * two[a] for a in others]
                apart, pixel = [], []
                for a, b in itertools.permutations(others, 2):
                    apart.append(one[a] * two[b])
                    pixel += [one[a] * one[b], two[a] * two[b]]
                single = [w[a] for w in (one, two) for a in others]
                own = [*map(np.mean, (same, apart, pixel, single)), 1]
                expected[i, step - 1] += torch.tensor(own).double()
    torch.testing.assert_close(found, expected)
    assert (expected[:, :, 4] > 0).any()


@pytest.mark.parametrize(('scene', 'annotators'), [(plane, 3), (soft_disc, 4)])
def test_few_annotators_are_no_reason_for_another_field(scene, annotators):
    """Whose outlines are compared is not decided by their own votes."""
    sampler = GumbelSampler(2, correlation_length=6.0, common=0.4)
    images = annotations(sampler, 80, annotators, scene=scene)
    fit = fit_field(images, 2, max_distance=20)
    assert fit.correlation_length == pytest.approx(6.0, rel=0.15)
    assert fit.common == pytest.approx(0.4, abs=0.1)
    near = fit.correlations[fit.distances == 1].mean()
    expected = 0.4 + 0.6 * math.exp(-0.5 / 6**2)
    assert near == pytest.approx(expected, abs=0.1)


def test_what_has_no_length_is_found_again():
    fit = fit_field(annotations(GumbelSampler(2), 15), 2, max_distance=20)
    assert fit.correlation_length is None
    assert fit.correlations.nan_to_num(1.0).min() > 0.9
    fit = fit_field(annotations(IndependentPixelSampler(2), 6), 2, 16)
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
    two = torch.randint(2, (2, 8, 8))
    with pytest.raises(UserError, match='three or more annotators'):
        fit_field([same, same & False, two], 2, 6)
    with pytest.raises(UserError, match='max_distance=2'):
        fit_field([same], 2, 2)
