"""The scaling between F's logits and its probabilities."""

import pytest
import torch

from mmcar.models.calibration_nets.scaling import (
    METHODS,
    ProbabilityScaling,
    identity_parameters,
    rescale,
)
from mmcar.utils.errors import UserError
from tests.toys import toy_batch, toy_model

CLASSES = 3


def random_parameters(method, classes=CLASSES):
    torch.manual_seed(1)
    return tuple(
        value + 0.3 * torch.rand_like(value)
        for value in identity_parameters(method, classes)
    )


def test_numbers_of_checkpoints_keep_their_meaning():
    """2 was called Dirichlet once, and is a matrix of centred values."""
    names = 'temperature vector matrix class-affine dirichlet'
    assert tuple(names.split()) == METHODS


def by_hand(pixel, method, weight, bias):
    """One pixel (K,), one class at a time."""
    middle = 0.0 if method == 'dirichlet' else pixel.mean()
    x = [float(v - middle) for v in pixel]
    best = max(range(CLASSES), key=lambda k: x[k])
    if method == 'temperature':
        y = [float(weight) * v for v in x]
    elif method == 'vector':
        y = [float(weight[k]) * x[k] + float(bias[k]) for k in range(CLASSES)]
    elif method in ('matrix', 'dirichlet'):
        sums = [
            sum(w * v for w, v in zip(row, x, strict=True))
            for row in weight.tolist()
        ]
        y = [total + float(b) for total, b in zip(sums, bias, strict=True)]
    else:
        y = [float(weight[best]) * v for v in x]
        y[best] += float(bias[best])
    return torch.tensor(y).log_softmax(0)


@pytest.mark.parametrize('method', METHODS)
def test_every_method_by_hand(method):
    log_probs = torch.randn(2, CLASSES, 3, 2).log_softmax(1)
    parameters = random_parameters(method)
    found = rescale(log_probs, method, *parameters)
    for n, row, column in ((0, 0, 0), (1, 2, 1), (1, 0, 1)):
        expected = by_hand(log_probs[n, :, row, column], method, *parameters)
        torch.testing.assert_close(found[n, :, row, column], expected)
    same = rescale(log_probs, method, *identity_parameters(method, CLASSES))
    torch.testing.assert_close(same, log_probs)


def scaled_model(method):
    model = toy_model().eval()
    parameters = random_parameters(method, 2)
    model.decode_head.scaling.set_fitted(method, *parameters)
    return model


@pytest.mark.parametrize('method', METHODS[1::2])
def test_a_checkpoint_brings_its_scaling_to_a_plain_config(method):
    scaled = scaled_model(method)
    plain = toy_model().eval()
    before = plain.test_step(toy_batch())[0].seg_logits.data
    result = plain.load_state_dict(scaled.state_dict())
    assert not result.missing_keys and not result.unexpected_keys
    assert plain.decode_head.scaling.method == method
    after = plain.test_step(toy_batch())[0].seg_logits.data
    expected = scaled.test_step(toy_batch())[0].seg_logits.data
    assert torch.equal(after, expected)
    assert not torch.allclose(after, before, atol=1e-3)


def test_follows_the_stitching_of_windows():
    model = scaled_model('dirichlet')
    head, scaling = model.decode_head, model.decode_head.scaling
    image = torch.randn(1, 3, 16, 16)
    window = ((8, 8), (4, 4))
    found = head.calibrate(image, window=window)
    fitted = scaling.method, scaling.weight, scaling.bias
    scaling.clear()
    stitched = head.calibrate(image, window=window)
    assert torch.equal(found, rescale(stitched, *fitted))


def test_refuses_parameters_of_other_classes():
    scaling = ProbabilityScaling(5)
    with pytest.raises(UserError, match='scaling'):
        scaling.set_fitted('vector', *identity_parameters('vector', 3))
    weight, bias = identity_parameters('vector', 5)
    with pytest.raises(UserError, match='scaling'):
        scaling.set_fitted('vector', weight / 0, bias)


def test_refuses_an_unknown_method_of_a_checkpoint():
    scaling = ProbabilityScaling(2)
    scaling.set_fitted('vector', *identity_parameters('vector', 2))
    state = {**scaling.state_dict(), 'method_id': torch.tensor(9)}
    with pytest.raises(UserError, match='method_id=9'):
        ProbabilityScaling(2).load_state_dict(state)
