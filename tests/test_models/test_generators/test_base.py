"""GumbelSampler's marginals, and chunked generation of every generator."""

import pytest
import torch
from mmseg.registry import MODELS
from torch import nn

from mmcar.models import (
    DCGANDiscriminator,
    GumbelSampler,
    LatentUNet,
    RefinementUNet,
)

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
        ('NormalNoise', {}),
        ('SobolNoise', {'correlation_length': 3.0}),
        ('NormalNoise', {'correlation_length': 3.0, 'common': 0.4}),
    ],
)
def test_gumbel_marginals_of_one_image(noise, field):
    sampler = GumbelSampler(3, **field)
    z = MODELS.build({'type': noise})(['a'], DRAWS, sampler.noise_size, 0)
    log_probs = _log_probs()
    samples = sampler(torch.zeros(1, 3, 6, 7), log_probs, z).results[:, 0]
    assert (samples.sum(1) == 1).all()
    assert ((samples == 0) | (samples == 1)).all()
    _assert_frequencies(samples, log_probs[0].exp())


@pytest.mark.parametrize('noise', ['NormalNoise', 'SobolNoise'])
def test_gumbel_marginals_over_images(noise):
    sampler = GumbelSampler(3)
    keys = [str(i) for i in range(DRAWS // 16)]
    z = MODELS.build({'type': noise})(keys, 16, sampler.noise_size, 0)
    log_probs = _log_probs().expand(len(keys), -1, -1, -1)
    samples = sampler(log_probs, log_probs, z).results.flatten(0, 1)
    _assert_frequencies(samples, log_probs[0].exp())


def test_gumbel_is_coherent():
    """Pixels of equal probabilities always get the same class."""
    log_probs = torch.tensor([0.5, 0.3, 0.2]).log().view(1, 3, 1, 1)
    log_probs = log_probs.expand(1, 3, 9, 9)
    sampler = GumbelSampler(3)
    labels = sampler(log_probs, log_probs, torch.randn(50, 1, 3)).results
    labels = labels.argmax(2).flatten(2)
    assert (labels == labels[..., :1]).all()
    assert len(labels.unique()) == 3
    field = GumbelSampler(3, correlation_length=2.0)
    z = torch.randn(50, 1, field.noise_size)
    labels = field(log_probs, log_probs, z).results.argmax(2).flatten(2)
    assert (labels != labels[..., :1]).any()


def test_gumbel_handles_impossible_classes():
    probs = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    samples = GumbelSampler(3)(probs, probs.log(), torch.randn(99, 1, 3))
    assert (samples.results[:, :, 0] == 1).all()


def _setup(cls=RefinementUNet, samples=5, **kwargs):
    torch.manual_seed(0)
    generator = cls(
        num_classes=3, base_channels=4, depth=2, noise_size=4, **kwargs
    )
    image = torch.randn(2, 3, 17, 20)
    log_probs = torch.randn(2, 3, 17, 20).log_softmax(1)
    z = torch.randn(samples, 2, generator.noise_size)
    return generator, (image, log_probs, z)


def _gradients(generator, inputs, chunk_size):
    torch.manual_seed(2)
    judge = DCGANDiscriminator(3, base_channels=4, depth=2).requires_grad_(
        False
    )

    def consume(probs):
        return probs.sum(0), judge(inputs[0], probs.flatten(0, 1))

    generator.zero_grad()
    output = generator(*inputs, consume=consume, chunk_size=chunk_size)
    sums, logits = zip(*output.results, strict=True)
    mean = sum(sums) / len(inputs[2])
    loss = mean.square().mean() - torch.cat(logits).sigmoid().log().mean()
    if output.posterior is not None:
        loss = loss + sum(p.square().mean() for p in output.posterior)
    loss.backward()
    return [p.grad.clone() for p in generator.parameters()]


@pytest.mark.parametrize(
    ('cls', 'gumbel', 'chunk_size'),
    [
        (RefinementUNet, False, 2),
        (LatentUNet, False, 9),
        (RefinementUNet, True, 5),
        (LatentUNet, True, 1),
    ],
)
def test_chunked_gradients_are_the_same(cls, gumbel, chunk_size):
    field = {'correlation_length': 4.0}
    kwargs = {'gumbel': field, 'temperature': 0.5} if gumbel else {}
    generator, inputs = _setup(cls, norm_cfg=None, dropout=0.0, **kwargs)
    nn.init.normal_(generator.logits.weight)  # not at its zero start
    whole = _gradients(generator, inputs, None)
    chunked = _gradients(generator, inputs, chunk_size)
    for one, other in zip(whole, chunked, strict=True):
        scale = one.abs().max().item()
        assert scale > 0
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * scale)


def test_chunks_are_the_whole():
    generator, inputs = _setup(samples=7)
    generator.eval()
    whole = generator(*inputs).results
    with torch.no_grad():
        chunks = generator(*inputs, lambda p: (p,), chunk_size=3).results
    assert [len(c[0]) for c in chunks] == [3, 3, 1]
    assert torch.allclose(torch.cat([c[0] for c in chunks]), whole, atol=1e-6)


def test_recomputation_repeats_dropout():
    """The gradient belongs to the very samples of the forward pass."""
    generator, inputs = _setup(norm_cfg=None, dropout=0.5)
    bias = generator.logits.bias
    seen = []

    def consume(probs):
        seen.append(probs.detach().clone())
        return (probs.square().sum(),)  # its gradient needs the samples

    output = generator(*inputs, consume, chunk_size=5)
    output.results[0][0].backward()
    first, again = seen
    assert torch.equal(first, again)
    assert bias.grad is not None


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda g, x, p, z: g(x, p, z[..., :-1]), 'noise_size=4'),
        (lambda g, x, p, z: g(x, p, z[:, :1]), '2 images'),
        (lambda g, x, p, z: g(x, p, z, lambda s: (s,), 0), 'chunk_size=0'),
    ],
)
def test_refuses_bad_calls(call, message):
    generator, inputs = _setup()
    with pytest.raises(ValueError, match=message):
        call(generator, *inputs)


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
