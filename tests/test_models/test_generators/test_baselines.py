import pytest
import torch
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from mmcar.utils.errors import UserError


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


def test_flipped_decision_moves_the_decided_class_to_its_twin():
    net = MODELS.build(
        dict(type='FlippedDecision', num_classes=3, black_box_classes=2)
    )
    black_box = torch.tensor([[0.7, 0.3], [0.3, 0.7]]).T.view(1, 2, 1, 2)
    image, black_box = torch.zeros(2, 3, 1, 2), black_box.expand(2, 2, 1, 2)
    samples = [
        SegDataSample(metainfo=dict(class_flips=((0, 2, probability),)))
        for probability in (0.25, 0.5)
    ]
    probs = net(image, black_box, samples).softmax(1)[:, :, 0]
    expected = torch.tensor([[0.75, 0.0], [0.0, 1.0], [0.25, 0.0]])
    torch.testing.assert_close(probs[0], expected)
    expected = torch.tensor([[0.5, 0.0], [0.0, 1.0], [0.5, 0.0]])
    torch.testing.assert_close(probs[1], expected)
    for without in (None, [SegDataSample(), SegDataSample()]):
        with pytest.raises(UserError, match='class_flips'):
            net(image, black_box, without)
