import torch
from mmseg.registry import MODELS


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
