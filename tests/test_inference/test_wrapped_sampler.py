"""Results, files and calibration of models that are not MMSegmentation's."""

import numpy as np
import pytest
import torch
from torch import nn

import mmcar
from mmcar.utils.errors import UserError

Image = pytest.importorskip('PIL.Image')


class Stripes(nn.Module):
    """Class scores that follow from two channels alone."""

    def forward(self, images):
        return torch.stack((images[:, 0], -images[:, 0], images[:, -1]), 1)


@pytest.fixture
def picture():
    return np.random.default_rng(0).integers(0, 256, (13, 18, 3), np.uint8)


@pytest.fixture
def model():
    return mmcar.wrap(Stripes().eval(), mean=[128.0] * 3, std=[64.0] * 3)


def test_a_file_is_its_array_and_the_batch_does_not_matter(
    model, picture, tmp_path
):
    path = tmp_path / 'one.png'
    Image.fromarray(picture).save(path)
    infer = mmcar.StochasticInferencer(model, sampler=dict(noise='sobol'))
    other = picture[::-1].copy()
    file, array, _ = infer([path, picture, other], 6, seed=2, batch_size=3)
    (alone,) = model.results(picture, 6, seed=2, noise='sobol')
    probs = model(picture[None])[0]
    (expected,) = model.sample(picture[None], 6, seed=2, noise='sobol')
    shares = (expected[:, None] == torch.arange(3)[:, None, None]).float()
    for result in (file, array, alone):
        np.testing.assert_array_equal(result.samples, expected)
        np.testing.assert_allclose(result.class_probs, probs, atol=1e-6)
        np.testing.assert_allclose(result.sample_probs, shares.mean(0))
        np.testing.assert_array_equal(result.image, picture)
        np.testing.assert_array_equal(result.decision, probs.argmax(0))
        assert not result.independent


@pytest.mark.parametrize('channels', [1, 4])
def test_files_have_the_channels_of_the_mean(channels, tmp_path):
    array = np.random.default_rng(0).integers(0, 256, (9, 7, channels))
    array = array.astype(np.uint8)
    Image.fromarray(array.squeeze()).save(tmp_path / 'x.png')
    model = mmcar.wrap(Stripes().eval(), mean=[0.0] * channels, std=200)
    (result,) = model.results(tmp_path / 'x.png', num_samples=2)
    expected = model(array[None])[0]
    np.testing.assert_allclose(result.class_probs, expected, atol=1e-6)


@pytest.mark.parametrize('method', ['temperature', 'vector'])
def test_probabilities_and_samples_carry_the_scaling(method, picture):
    """Labels are drawn from a model three times less sure."""
    net = Stripes().eval()
    plain, model, truth = (
        mmcar.wrap(scores, mean=128.0, std=16.0)
        for scores in (net, net, lambda x: net(x) / 3)
    )
    images = np.stack([picture, picture[::-1]])
    labels = truth.sample(images, 200, seed=5)
    batches = [images[:1], images[1:]], [labels[:1], labels[1:]]
    fit = model.calibrate(*batches, method)
    assert torch.allclose(fit.weight, torch.tensor(1 / 3).double(), atol=0.04)
    assert torch.allclose(model(images), truth(images), atol=0.05)
    before, after = (
        mmcar.calibration(one(images), labels).nll for one in (plain, model)
    )
    assert after < before - 0.3
    expected = mmcar.sample_labels(
        model(images), 3, keys=['a', 'b'], kind='probs'
    )
    assert torch.equal(model.sample(images, 3, keys=['a', 'b']), expected)
    # Fitted anew, it forgets; pixels without a label are left out.
    one = labels[:, 0].int()
    one[:, :4] = 255
    weight = model.calibrate(images, one, method).weight
    labelled = model.calibrate(images[:, 4:], one[:, 4:], method).weight
    assert torch.allclose(weight, labelled, atol=1e-5)


@pytest.mark.parametrize(
    'labels, named',
    [
        (torch.zeros(2, 13, 18, dtype=torch.long), r'\(2, 1, 13, 18\)'),
        (torch.zeros(1, 18, 13, dtype=torch.long), r'\(1, 18, 13\)'),
        (torch.full((1, 13, 18), 3), r'labels: .*\[3\]'),
        (torch.full((1, 13, 18), 255), 'no labelled'),
        (torch.rand(1, 13, 18), 'float32'),
    ],
)
def test_labels_that_cannot_be(model, picture, labels, named):
    with pytest.raises(UserError, match=named):
        model.calibrate(picture[None], labels)


def test_what_cannot_be_given(model, picture):
    assert mmcar.StochasticInferencer(model).classes == ()
    with pytest.raises(UserError, match='checkpoint'):
        mmcar.StochasticInferencer(model, 'weights.pth')
    for given in (Stripes(), 'model.onnx'):
        with pytest.raises(UserError, match=r'mmcar\.wrap'):
            mmcar.StochasticInferencer(given)
    with pytest.raises(UserError, match='num_samples'):
        model.results(picture, 0)
    with pytest.raises(UserError, match='array_000'):
        model.results(np.zeros((2, 3, 4, 5)))
    with pytest.raises(UserError, match='classes'):
        mmcar.wrap(Stripes().eval(), classes=['a', 'b'])(picture[None])
