"""GumbelSampler's marginals, and chunked generation of every generator."""

import pytest
import torch

from mmcar.models import GumbelSampler, RefinementUNet
from mmcar.sampling import NormalNoise, SobolNoise

DRAWS = 4_000


def _log_probs(batch=1, classes=3, size=(6, 7)):
    torch.manual_seed(1)
    return (2 * torch.randn(batch, classes, *size)).log_softmax(1)


def _assert_frequencies(one_hot, probs):
    """Within 4 standard errors of probs at every pixel, for every class."""
    error = (probs * (1 - probs) / len(one_hot)).sqrt()
    assert ((one_hot.mean(0) - probs).abs() <= 4 * error).all()


@pytest.mark.parametrize(
    ('noise', 'field'),
    [
        (NormalNoise, {}),
        (SobolNoise, {'correlation_length': 3.0}),
        (NormalNoise, {'correlation_length': 3.0, 'common': 0.4}),
    ],
)
def test_gumbel_marginals_of_one_image(noise, field):
    sampler = GumbelSampler(3, **field)
    z = noise()(['a'], DRAWS, sampler.noise_size, 0)
    log_probs = _log_probs()
    samples = sampler(torch.zeros(1, 3, 6, 7), log_probs, z)[:, 0]
    assert (samples.sum(1) == 1).all()
    assert ((samples == 0) | (samples == 1)).all()
    _assert_frequencies(samples, log_probs[0].exp())


def test_gumbel_marginals_over_images():
    sampler, keys = GumbelSampler(3), [str(i) for i in range(DRAWS // 16)]
    z = SobolNoise()(keys, 16, sampler.noise_size, 0)
    log_probs = _log_probs().expand(len(keys), -1, -1, -1)
    samples = sampler(log_probs, log_probs, z).flatten(0, 1)
    _assert_frequencies(samples, log_probs[0].exp())


def test_recomputation_repeats_dropout():
    """The gradient belongs to the very samples of the forward pass."""
    small = dict(base_channels=4, depth=2, norm_cfg=None)
    generator = RefinementUNet(3, dropout=0.5, **small)
    image, log_probs = torch.randn(2, 3, 17, 20), _log_probs(2, 3, (17, 20))
    bias = generator.logits.bias
    seen = []

    def consume(probs):
        seen.append(probs.detach().clone())
        return (probs.square().sum(),)  # its gradient needs the samples

    features = generator.encode(image, log_probs)
    z = torch.randn(5, 2, generator.noise_size)
    drawn = generator.consume_samples(features, z, consume, 5)
    drawn[0][0].backward()
    first, again = seen
    assert torch.equal(first, again)
    assert bias.grad is not None


class Same(GumbelSampler):
    """Its logits are its features: nothing to be written to."""

    def decode(self, features, z):
        """The same for every sample."""
        return features.expand(len(z), *features.shape)


@pytest.mark.parametrize('kind', [GumbelSampler, Same])
def test_sampling_leaves_features_as_they_are(kind):
    temperature = 0.1
    sampler, logs = kind(3, temperature=temperature), _log_probs()
    z, before = torch.randn(1, 1, sampler.noise_size), logs.clone()
    features = sampler.encode(None, logs)
    probs = sampler.sample(features, z)
    assert torch.equal(logs, before)
    again = (sampler.decode(features, z) / temperature).softmax(2)
    torch.testing.assert_close(probs, again)
