import math

import pytest
import torch
from mmseg.registry import MODELS

from mmcar.models import GumbelSampler, TunedSampler

PROBS = torch.tensor([0.015, 0.185, 0.8])
FLOOR = 0.02


def frequencies(generator, draws=4000):
    """How often each class is drawn where F is known, at two pixels."""
    torch.manual_seed(0)
    log_probs = PROBS.log().view(1, 3, 1, 1).repeat(1, 1, 16, 16)
    z = torch.randn(draws, 1, generator.noise_size)
    state = generator.encode(torch.zeros(1, 3, 16, 16), log_probs)
    with torch.no_grad():
        labels = torch.cat(
            [generator.sample_labels(state, part) for part in z.split(200)]
        )
    seen = labels[:, 0, [0, 9], [0, 4]].long()
    return torch.nn.functional.one_hot(seen, 3).float().mean(0)


NET = dict(type='ConvCalibration', channels=4, num_blocks=1, dropout=0.0)


def _sampler(**kwargs):
    torch.manual_seed(0)
    sampler = TunedSampler(3, net=NET, **kwargs)
    image = torch.randn(2, 3, 9, 8)
    z = torch.randn(5, 2, sampler.noise_size)
    return sampler, image, z


def test_starts_as_the_training_free_sampler_of_its_net():
    settings = dict(correlation_length=3.0, common=0.5)
    sampler, image, z = _sampler(net_temperature=0.6, **settings)
    sampler.eval()
    logits = sampler.net(image) / 0.6
    other = torch.randn(2, 3, 9, 8).log_softmax(1)  # F has no say
    plain = GumbelSampler(3, **settings)
    expected = plain(image, logits.log_softmax(1), z)
    samples = sampler(image, other, z)
    assert torch.equal(samples.argmax(2), expected.argmax(2))
    assert (samples[0] != samples[1]).any()


def test_net_runs_once_however_the_samples_are_chunked():
    sampler, image, z = _sampler(temperature=0.5)
    calls = []
    sampler.net.register_forward_hook(lambda *_: calls.append(1))
    features = sampler.encode(image, None)
    whole = sampler.sample(features, z)
    chunks = sampler.consume_samples(features, z, lambda p: (p,), 2)
    assert len(calls) == 1
    torch.testing.assert_close(torch.cat([c[0] for c in chunks]), whole)


@pytest.mark.parametrize(
    ('kwargs', 'message'),
    [
        ({'net': {**NET, 'black_box_classes': 4}}, 'black_box_classes=4'),
        ({'net': {**NET, 'num_classes': 2}}, 'net.num_classes=2'),
    ],
)
def test_refuses(kwargs, message):
    with pytest.raises(ValueError, match=message):
        TunedSampler(3, **{'net': NET, **kwargs})


def test_what_is_hardly_possible_is_left_out_of_samples_not_of_training():
    sampler, image, _ = _sampler(floor=0.3)
    log_probs = sampler.train().encode(image, None)
    assert log_probs.exp().sum(1).allclose(torch.ones(2, 9, 8))
    assert log_probs.exp().min() < 0.3
    drawn = sampler.eval().encode(image, None)
    assert (drawn[drawn > -1e3] >= math.log(0.3)).all()
    assert (drawn < -1e3).any()


def sample(kind, number):
    probs = torch.rand(1, 3, 2, 2, generator=torch.manual_seed(0))
    probs = probs / probs.sum(1, keepdim=True)
    sampler = MODELS.build(dict(type=kind, num_classes=3))
    z = torch.randn(number, 1, 1, generator=torch.manual_seed(1))
    image = torch.zeros(1, 3, 2, 2)
    return probs, sampler(image, probs.log(), z)[:, 0]


def test_argmax_is_the_decision():
    probs, samples = sample('ArgmaxSampler', 3)
    assert torch.equal(samples.argmax(1), probs[0].argmax(0).expand(3, 2, 2))


def test_independent_pixels_have_the_right_frequencies():
    probs, samples = sample('IndependentPixelSampler', 4000)
    assert torch.equal(samples, sample('IndependentPixelSampler', 4000)[1])
    error = (probs[0] * (1 - probs[0]) / 4000).sqrt()
    assert ((samples.mean(0) - probs[0]).abs() < 4 * error).all()
    ids = samples.argmax(1).float().flatten(1)
    correlation = torch.corrcoef(ids.T) - torch.eye(4)
    assert correlation.abs().max() < 0.08
