"""Frequencies are F's, whatever the weights."""

import pytest
import torch

from mmcar.models import GumbelSampler
from mmcar.models.generators.weighted_sampler import WeightedSampler
from mmcar.utils.errors import UserError

from .test_gumbel_sampler import FLOOR, PROBS, frequencies


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


def test_frequencies_are_those_of_f_for_any_weights():
    found = frequencies(Given(random_weights()))
    assert (found - PROBS).abs().max() < 0.03
    assert found[:, 0].min() > 0


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


def test_one_weight_is_the_training_free_sampler():
    sampler, shared = Given(torch.ones(1, 1, 16, 16)), GumbelSampler(3)
    log_probs = torch.randn(2, 3, 16, 16).log_softmax(1)
    image, z = torch.zeros(2, 3, 16, 16), torch.randn(6, 2, 3)
    expected = shared.sample_labels(shared.encode(image, log_probs), z)
    found = sampler.sample_labels(sampler.encode(image, log_probs), z)
    assert torch.equal(found, expected)
