"""Margins by rank: against brute force, and whatever the scores are."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from mmcar.sampling.margins import NOISE_SIZE, Margins

TWINS = ((1, 4), (2, 5))


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def random_inputs(samples, classes, seed=0, size=(5, 7), batch=3):
    generator = seeded(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator)

    scores = 3 * draw(samples, batch, classes, *size)
    log_probs = (2 * draw(batch, classes, *size)).log_softmax(1)
    return scores, log_probs, draw(samples, batch, NOISE_SIZE)


def frequencies(labels, classes):
    hot = one_hot(labels, classes).double()
    return hot.mean(0).movedim(-1, 1)  # (B, K, H, W)


def brute_force(scores, log_probs, noise, order):
    """Every pixel on its own, in plain Python; no groups."""
    samples, batch, _, height, width = scores.shape
    labels = torch.zeros(samples, batch, height, width, dtype=torch.long)
    for b in range(batch):
        ties = noise[:, b, 0].argsort().tolist()
        v = float(torch.special.ndtr(noise[0, b, 1].double()))
        points = torch.arange(1, samples + 1) - v
        for y, x in np.ndindex(height, width):
            left, end, taken = list(ties), 0.0, 0
            p = log_probs[b, :, y, x].double().exp()
            own = scores[:, b, :, y, x]
            for place, k in enumerate(order[:-1]):
                odds = own[:, k] - own[:, order[place + 1 :]].logsumexp(1)
                end += float(p[k] / p.sum())
                upto = int((points < samples * end).sum())
                # A stable order: ties in the order of the noise.
                left.sort(key=lambda s: -float(odds[s]))
                labels[left[: upto - taken], b, y, x] = k
                left, taken = left[upto - taken :], upto
                left.sort(key=ties.index)
            labels[left, b, y, x] = order[-1]
    return labels


@pytest.mark.parametrize(
    ('samples', 'classes'), [(1, 3), (7, 2), (7, 6), (16, 3)]
)
def test_labels_are_those_of_brute_force(samples, classes):
    scores, log_probs, noise = random_inputs(samples, classes, size=(3, 4))
    scores = scores.round()  # with ties
    order = list(range(classes))[::-1]
    found = Margins(classes).labels(scores, log_probs, noise)
    expected = brute_force(scores, log_probs, noise, order)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ('samples', 'classes', 'groups'),
    [(1, 5, None), (3, 6, TWINS), (33, 2, None), (100, 6, TWINS)],
)
def test_frequencies_are_right_up_to_one_sample(samples, classes, groups):
    scores, log_probs, noise = random_inputs(samples, classes)
    labels = Margins(classes, groups).labels(scores, log_probs, noise)
    error = frequencies(labels, classes) - log_probs.double().exp()
    assert error.abs().max() < 1 / samples + 1e-6
    if groups:
        names = error[:, [1, 2]] + error[:, [4, 5]]
        assert names.abs().max() < 1 / samples + 1e-6


def test_scores_of_any_kind_change_no_frequency():
    """Equal, infinite, huge: counts are those of the probabilities alone."""
    scores, log_probs, noise = random_inputs(16, 3)
    margins = Margins(3)
    expected = frequencies(margins.labels(scores, log_probs, noise), 3)
    impossible = scores.clone()
    impossible[:8, :, 1] = -math.inf
    for other in (
        torch.zeros_like(scores),
        scores.argmax(2, keepdim=True).eq(torch.arange(3).view(3, 1, 1)) * 1.0,
        *(impossible, 1e12 * scores, scores.half()),
    ):
        labels = margins.labels(other, log_probs, noise)
        assert torch.equal(frequencies(labels, 3), expected)


def test_certain_pixels_are_certain():
    scores, log_probs, noise = random_inputs(9, 3)
    log_probs[..., 0] = torch.tensor([1e-30, 1.0, 1e-30]).log()[:, None]
    labels = Margins(3).labels(scores, log_probs, noise)
    assert (labels[..., 0] == 1).all()
    maps = Margins(3).maps(scores, log_probs, noise)
    assert (maps[:, :, 1, :, 0] == 1).all()


def test_samples_that_have_the_margins_already_stay_as_they_are():
    """Exact draws of two classes, ordered as their scores say."""
    level = torch.arange(8) / 8 + 1 / 16  # samples by their threshold
    probs = torch.arange(9).view(1, 1, 9) / 8
    above = probs > level.view(-1, 1, 1, 1)  # (S, 1, 1, 9)
    scores = torch.stack((~above, above), 2).float()
    log_probs = torch.stack((1 - probs, probs), 1).clamp_min(1e-12).log()
    for seed in range(5):
        noise = torch.randn(8, 1, 2, generator=seeded(seed))
        labels = Margins(2).labels(scores, log_probs, noise)
        assert torch.equal(labels.bool(), above)


def test_no_sample_and_no_class_is_preferred():
    """Over the noise, each sample of tied scores has F's probabilities."""
    log_probs = torch.tensor([0.15, 0.27, 0.58]).log().view(1, 3, 1, 1)
    count, samples = 20000, 4
    noise = torch.randn(samples, count, 2, generator=seeded(0))
    ties, probs = torch.zeros(samples, count, 3, 1, 1), log_probs.exp()
    many = log_probs.expand(count, -1, -1, -1)
    labels = Margins(3).labels(ties, many, noise)
    hot = one_hot(labels[..., 0, 0], 3).double().mean(1)
    assert (hot - probs.view(1, 3)).abs().max() < 0.012


def test_ties_are_broken_alike_at_all_pixels():
    """Equal scores: nested level sets, not speckles."""
    _, log_probs, noise = random_inputs(16, 2)
    labels = Margins(2).labels(torch.zeros(16, 3, 2, 5, 7), log_probs, noise)
    labels = labels.flatten(2)
    area = labels.sum(2)
    for b in range(3):
        nested = labels[area[:, b].argsort(), b]
        assert (nested.diff(dim=0) >= 0).all()


def test_pixels_know_nothing_of_each_other():
    """Whatever stands at ignored pixels, others stay as they are."""
    scores, log_probs, noise = random_inputs(8, 4)
    margins = Margins(4)
    before = margins.labels(scores, log_probs, noise)
    scores[..., :2, :2], log_probs[..., :2, :2] = math.nan, math.nan
    after = margins.labels(scores, log_probs, noise)
    assert torch.equal(before[..., 2:, :], after[..., 2:, :])
    assert torch.equal(before[..., 2:], after[..., 2:])


def test_maps_are_probabilities_around_the_labels():
    for classes, groups in ((2, None), (4, None), (6, TWINS)):
        margins = Margins(classes, groups)
        inputs = random_inputs(8, classes)
        maps = margins.maps(*inputs, temperature=1e-4)
        total = maps.sum(2)
        torch.testing.assert_close(total, torch.ones_like(total))
        hard = one_hot(margins.labels(*inputs), classes).movedim(-1, 2)
        assert (maps - hard).abs().max() < 0.02
        soft = margins.maps(*inputs)
        assert ((soft > 0.01) & (soft < 0.99)).any()


def test_gradients_are_finite_and_those_of_finite_differences():
    scores, log_probs, noise = random_inputs(4, 3, size=(2, 2), batch=1)
    log_probs[..., 0] = torch.tensor([1e-30, 1.0, 1e-30]).log()[:, None]
    scores = scores.clamp(-4, 4).requires_grad_()
    weights = torch.randn(4, 1, 3, 2, 2, generator=seeded(3))

    def value(at):
        return (Margins(3).maps(at, log_probs, noise) * weights).sum()

    (gradient,) = torch.autograd.grad(value(scores), scores)
    assert gradient.isfinite().all()
    assert (gradient[..., 0] == 0).all()  # certain, nothing to learn
    assert (gradient[..., 1] != 0).any()
    step = 1e-2
    for index in torch.randperm(scores.numel(), generator=seeded(4))[:12]:
        change = step * one_hot(index, scores.numel()).view_as(scores)
        with torch.no_grad():
            slope = (value(scores + change) - value(scores - change)) / 2
        expected = gradient.flatten()[index]
        assert float(slope / step) == pytest.approx(float(expected), abs=3e-3)
