"""Results, files and calibration of models that are not MMSegmentation's."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import mmcar
from mmcar.inference.wrapped_sampler import WrappedSampler
from mmcar.utils.errors import UserError

Image = pytest.importorskip('PIL.Image')


class Stripes(nn.Module):
    """Class probabilities that follow from the first channel alone."""

    def forward(self, images):
        return torch.stack((images[:, 0], -images[:, 0], images[:, 2]), 1)


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
    infer = mmcar.StochasticInferencer(model)
    other = picture[::-1].copy()
    file, array, _ = infer([path, picture, other], 6, seed=2, batch_size=3)
    (alone,) = model.results(picture, 6, seed=2)
    probs = model(picture[None])[0]
    expected = model.sample(picture[None], 6, seed=2)[0]
    for result in (file, array, alone):
        np.testing.assert_array_equal(result.samples, expected)
        np.testing.assert_allclose(result.class_probs, probs, atol=1e-6)
        np.testing.assert_array_equal(result.image, picture)
        np.testing.assert_array_equal(result.decision, probs.argmax(0))
    shares = (expected[:, None] == torch.arange(3)[:, None, None]).float()
    np.testing.assert_allclose(file.sample_probs, shares.mean(0), atol=1e-6)
    assert list(file.classes) == ['0', '1', '2']
    assert sum(h.probability for h in file.hypotheses) == pytest.approx(1)


def test_files_are_written(model, picture, tmp_path):
    pytest.importorskip('matplotlib')
    infer = mmcar.StochasticInferencer(model)
    infer(picture, num_samples=3, out_dir=tmp_path, npz=True)
    kinds = {path.name for path in tmp_path.iterdir()}
    assert kinds >= {'decision', 'hypotheses', 'npz', 'overlay', 'samples'}
    kept = Image.open(tmp_path / 'samples' / 'array_000' / '002.png')
    (result,) = model.results(picture, num_samples=3)
    np.testing.assert_array_equal(np.array(kept), result.samples[2])
    assert json.dumps(result.summary())


def test_settings_of_the_sampler(model, picture):
    expected = model.sample(picture[None], 8, temperature=0.1, noise='sobol')
    (found,) = model.results(picture, 8, temperature=0.1, noise='sobol')
    np.testing.assert_array_equal(found.samples, expected[0])
    assert not found.independent


@pytest.mark.parametrize(
    'mean, shape', [([0.0], (9, 7)), ([0.0] * 4, (9, 7, 4))]
)
def test_files_have_the_channels_of_the_mean(mean, shape, tmp_path):
    seen = []

    def net(images):
        seen.append(tuple(images.shape))
        return torch.cat((images[:, :1], -images[:, :1]), 1)

    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    Image.fromarray(array).save(tmp_path / 'x.png')
    model = mmcar.wrap(net, mean=mean)
    model.results(tmp_path / 'x.png', num_samples=2)
    assert seen == [(1, len(mean), 9, 7)]


@pytest.mark.parametrize('method', ['temperature', 'vector'])
def test_probabilities_and_samples_carry_the_scaling(method, picture):
    """Labels are drawn from a model three times less sure."""
    net = Stripes().eval()
    settings = dict(mean=128.0, std=16.0)
    model = WrappedSampler(net, **settings)
    truth = WrappedSampler(lambda x: net(x) / 3, **settings)
    images = np.stack([picture, picture[::-1]])
    labels = truth.sample(images, 200, seed=5)
    fit = model.calibrate([images[:1], images[1:]], [labels[:1], labels[1:]])
    if method == 'vector':
        fit = model.calibrate(images, labels, method)
    assert torch.allclose(fit.weight, torch.tensor(1 / 3).double(), atol=0.04)
    assert torch.allclose(model(images), truth(images), atol=0.05)
    before = mmcar.calibration(WrappedSampler(net, **settings)(images), labels)
    after = mmcar.calibration(model(images), labels)
    assert after.nll < before.nll - 0.3
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
        (torch.zeros(2, 13, 18, dtype=torch.long), '(2, 1, 13, 18)'),
        (torch.zeros(1, 18, 13, dtype=torch.long), '(1, 1, 18, 13)'),
        (torch.full((1, 13, 18), 3), 'label 3'),
        (torch.full((1, 13, 18), 255), 'no labelled'),
    ],
)
def test_labels_that_cannot_be(model, picture, labels, named):
    with pytest.raises(UserError) as error:
        model.calibrate(picture[None], labels)
    assert named in str(error.value)


def test_what_the_model_cannot_be_given(model, picture):
    with pytest.raises(UserError, match='checkpoint'):
        mmcar.StochasticInferencer(model, 'weights.pth')
    with pytest.raises(UserError, match='array_000'):
        model.results(np.zeros((2, 3, 4, 5)))
    named = mmcar.wrap(Stripes().eval(), classes=['a', 'b'])
    with pytest.raises(UserError, match='classes'):
        named(picture[None])
