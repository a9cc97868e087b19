import math

import pytest
import torch
from mmseg.registry import MODELS

from mmcar.models import EnergyLoss, GumbelSampler, TunedSampler
from mmcar.models.generators import RefinementUNet
from mmcar.models.losses import SampleBatch

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
    return torch.stack(
        [
            (labels[:, 0, r, c] == k).float().mean()
            for r, c in ((0, 0), (9, 4))
            for k in range(3)
        ]
    ).view(2, 3)


@pytest.mark.parametrize(
    'generator',
    [
        GumbelSampler(3, correlation_length=4.0, floor=FLOOR),
        RefinementUNet(
            3, base_channels=2, depth=1, gumbel={'floor': FLOOR}
        ).eval(),
    ],
    ids=['field', 'network'],
)
def test_what_is_below_the_floor_never_happens(generator):
    found = frequencies(generator)
    assert (found[:, 0] == 0).all()
    assert (found - PROBS).abs().max() < FLOOR + 0.03


NET = {
    'type': 'ConvCalibration',
    'channels': 4,
    'num_blocks': 1,
    'dropout': 0.0,
}


def _sampler(**kwargs):
    torch.manual_seed(0)
    sampler = TunedSampler(3, net=NET, **kwargs)
    image = torch.randn(2, 3, 9, 8)
    z = torch.randn(5, 2, sampler.noise_size)
    return sampler, image, z


@pytest.mark.parametrize('net_temperature', [1.0, 0.6])
def test_starts_as_the_training_free_sampler_of_its_net(net_temperature):
    sampler, image, z = _sampler(net_temperature=net_temperature)
    sampler.eval()
    logits = sampler.net(image) / net_temperature
    other = torch.randn(2, 3, 9, 8).log_softmax(1)  # F has no say
    expected = GumbelSampler(3)(image, logits.log_softmax(1), z).results
    samples = sampler(image, other, z).results
    assert torch.equal(samples.argmax(2), expected.argmax(2))
    assert (samples[0] != samples[1]).any()


def test_losses_of_samples_train_the_net():
    sampler, image, z = _sampler(temperature=0.5)
    label = (image[:, 0] > 0).long()

    def loss():
        samples = sampler(image, torch.zeros(2, 3, 9, 8), z).results
        batch = SampleBatch(
            samples.mean(0), label, len(samples), samples=samples
        )
        return EnergyLoss(classes=(0, 1))(batch)

    optim = torch.optim.Adam(sampler.parameters(), lr=0.02)
    before = loss().item()
    for _ in range(30):
        optim.zero_grad()
        value = loss()
        value.backward()
        assert all(p.grad is not None for p in sampler.parameters())
        optim.step()
    assert loss().item() < before - 0.5


def test_net_runs_once_however_the_samples_are_chunked():
    sampler, image, z = _sampler(temperature=0.5)
    calls = []
    sampler.net.register_forward_hook(lambda *_: calls.append(1))
    whole = sampler(image, None, z).results
    chunks = sampler(image, None, z, lambda p: (p,), chunk_size=2).results
    assert len(calls) == 2
    torch.testing.assert_close(torch.cat([c[0] for c in chunks]), whole)


def test_takes_the_noise_of_the_gumbel_sampler():
    sampler, image, z = _sampler(correlation_length=3.0, common=0.5)
    assert sampler.noise_size == 3 * (2 * 32 + 1) + 2 * 32
    assert sampler(image, None, z).results.shape == (5, 2, 3, 9, 8)


@pytest.mark.parametrize(
    ('kwargs', 'message'),
    [
        ({'net_temperature': 0}, 'net_temperature=0'),
        ({'temperature': 0}, 'temperature=0'),
        (
            {'net': {**NET, 'black_box_classes': 4}},
            'generator.net.black_box_classes',
        ),
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
    return probs, sampler(image, probs.log(), z).results[:, 0]


def test_argmax_is_the_decision():
    probs, samples = sample('ArgmaxSampler', 3)
    assert torch.equal(samples.argmax(1), probs[0].argmax(0).expand(3, 2, 2))


def test_independent_pixels_have_the_right_frequencies():
    probs, samples = sample('IndependentPixelSampler', 4000)
    error = (probs[0] * (1 - probs[0]) / 4000).sqrt()
    assert ((samples.mean(0) - probs[0]).abs() < 4 * error).all()
    ids = samples.argmax(1).float().flatten(1)
    correlation = torch.corrcoef(ids.T) - torch.eye(4)
    assert correlation.abs().max() < 0.08


def test_independent_pixels_are_a_function_of_the_noise():
    _, once = sample('IndependentPixelSampler', 3)
    _, again = sample('IndependentPixelSampler', 3)
    assert torch.equal(once, again)
    assert not torch.equal(once[0], once[1])
