"""Frequencies are F's, whatever the weights."""

import numpy as np
import pytest
import torch

from mmcar.models import (
    EnergyLoss,
    GumbelSampler,
    LearntFieldSampler,
    RegionSampler,
    SampleBatch,
)
from mmcar.models.generators.field_samplers import WeightedSampler, memberships
from mmcar.utils.errors import UserError

from .test_samplers import FLOOR, PROBS, frequencies


class Given(WeightedSampler):
    """With weights that a test chooses."""

    def __init__(self, weights, **kwargs):
        super().__init__(3, weights.shape[1], **kwargs)
        self.given = weights

    def weights(self, image, log_probs):
        return self.given.expand(len(image), *self.given.shape[1:])


def random_weights(rank=5):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(1, rank, 16, 16, generator=generator)


def test_what_is_below_the_floor_never_happens():
    found = frequencies(Given(random_weights(), floor=FLOOR))
    assert (found[:, 0] == 0).all()
    with pytest.raises(UserError, match=r'floor=0\.5'):
        Given(random_weights(), floor=0.5)


def test_labels_are_the_argmax_of_the_perturbed_probabilities():
    sampler = Given(random_weights(), temperature=0.0)
    log_probs = torch.randn(2, 3, 16, 16).log_softmax(1)
    state = sampler.encode(torch.zeros(2, 3, 16, 16), log_probs)
    z = torch.randn(6, 2, sampler.noise_size)
    labels = sampler.sample_labels(state, z)
    assert torch.equal(sampler.decode(state, z).argmax(2), labels.long())
    assert torch.equal(sampler.sample(state, z).argmax(2), labels.long())


IMAGE = torch.zeros(1, 3, 24, 40)


def two_blobs(p=0.5):
    """F of two blobs on certain ground, far from each other."""
    foreground = torch.full((24, 40), 0.001)
    foreground[4:12, 4:12] = p
    foreground[10:20, 28:38] = p
    probs = torch.stack((1 - foreground, foreground))
    return probs.log()[None]


def on_both(sampler, draws=2000, image=IMAGE):
    """Whether each blob is drawn, at its middle, (draws, 2)."""
    torch.manual_seed(0)
    state = sampler.encode(image, two_blobs())
    z = torch.randn(draws, 1, sampler.noise_size)
    labels = torch.cat(
        [sampler.sample_labels(state, part) for part in z.split(500)]
    )[:, 0]
    return torch.stack((labels[:, 8, 8], labels[:, 15, 33])).double()


def test_regions_are_connected_parts_and_what_is_nearest():
    undecided = two_blobs()[0].amax(0).exp().numpy() < 0.95
    shares = memberships(undecided, 3, border=0)
    assert (shares.sum(0) == 1).all() and set(np.unique(shares)) == {0, 1}
    assert shares[0, 15, 33] == 1  # the larger one is first
    assert shares[1, 8, 8] == 1 and shares[1, 0, 0] == 1
    assert not shares[2].any()
    smooth = memberships(undecided, 3, border=2.0)
    np.testing.assert_allclose(smooth.sum(0), 1, rtol=1e-5)
    between = smooth[0, 12]
    assert ((between > 0.05) & (between < 0.95)).sum() >= 4
    assert (memberships(undecided, 1, 0)[0] == 1).all()  # they share one
    assert (memberships(undecided & False, 3, 2.0)[0] == 1).all()


@pytest.mark.parametrize(('common', 'expected'), [(0.0, 0.0), (0.6, 0.41)])
def test_blobs_vary_independently_but_for_the_common_part(common, expected):
    """Halves of a Gaussian of correlation c: 2 / pi * asin(c) = 0.41."""
    both = on_both(RegionSampler(2, common=common))
    assert both.mean(1).tolist() == pytest.approx([0.5, 0.5], abs=0.04)
    found = torch.corrcoef(both)[0, 1].item()
    assert found == pytest.approx(expected, abs=0.08)


def test_all_in_common_is_the_training_free_sampler():
    sampler = RegionSampler(2, max_regions=4, common=1.0)
    shared = GumbelSampler(2)
    z = torch.randn(9, 1, sampler.noise_size)
    own = z.unflatten(-1, (2, 5))[..., -1]
    log_probs = torch.randn(1, 2, 24, 40).log_softmax(1)
    expected = shared.sample_labels(shared.encode(IMAGE, log_probs), own)
    found = sampler.sample_labels(sampler.encode(IMAGE, log_probs), z)
    assert torch.equal(found, expected)


def build(**kwargs):
    torch.manual_seed(0)
    sampler = LearntFieldSampler(2, rank=4, channels=8, **kwargs)
    sampler.init_weights()
    return sampler


def test_it_starts_as_the_training_free_sampler():
    sampler, shared = build(), GumbelSampler(2)
    z = torch.randn(9, 1, sampler.noise_size)
    own = z.unflatten(-1, (2, 4))[..., -1]
    expected = shared.sample_labels(shared.encode(IMAGE, two_blobs()), own)
    with torch.no_grad():
        found = sampler.sample_labels(sampler.encode(IMAGE, two_blobs()), z)
    assert torch.equal(found, expected)


def test_frequencies_are_those_of_f_whatever_it_has_learnt():
    sampler = LearntFieldSampler(3, rank=4, channels=8)
    for weight in sampler.parameters():
        torch.nn.init.normal_(weight)
    found = frequencies(sampler)
    assert (found - PROBS).abs().max() < 0.03
    assert found[:, 0].min() > 0


def test_it_learns_that_two_blobs_are_independent():
    """From labels in which they are, by the energy loss alone."""
    labels = torch.zeros(1, 4, 24, 40, dtype=torch.long)
    for a in range(4):  # none, one, the other, both
        labels[:, a, 4:12, 4:12] = a % 2
        labels[:, a, 10:20, 28:38] = a // 2
    energy = EnergyLoss(loss_weight=1.0, classes=(1,), smooth=0.1)
    sampler, image = build(), torch.rand(IMAGE.shape)
    before = torch.corrcoef(on_both(sampler, 500))[0, 1]
    optim = torch.optim.Adam(sampler.parameters(), lr=1e-2)
    for _ in range(140):
        z = torch.randn(12, 1, sampler.noise_size)
        samples = sampler(image, two_blobs(), z)
        batch = SampleBatch(
            samples.mean(0), labels[:, 0], 12, samples=samples, labels=labels
        )
        optim.zero_grad()
        energy(batch).backward()
        optim.step()
    with torch.no_grad():
        both = on_both(sampler, 1000, image)
    assert before > 0.9
    assert torch.corrcoef(both)[0, 1] < 0.5
    assert (both.mean(1) - 0.5).abs().max() < 0.06
