"""The low-rank Gaussian against closed forms and quadrature."""

import numpy as np
import pytest
import torch
from mmseg.registry import MODELS

from mmcar.models.methods.ssn import LowRankGaussian, monte_carlo_likelihood
from tests.toys import toy_batch

from .models import METHODS


def random_gaussian(rank=3, classes=2, size=(2, 3)):
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator)

    return LowRankGaussian(
        draw(1, classes, *size),
        draw(1, rank, classes, *size),
        draw(1, classes, *size).abs(),
    )


def test_draws_have_the_gaussians_mean_and_covariance():
    gaussian = random_gaussian()
    z = torch.randn(200000, 1, 3 + 12, generator=torch.Generator())
    logits = gaussian.logits(z)[:, 0].flatten(1).double()
    factor = gaussian.factor[0].flatten(1).T.double()
    diagonal = gaussian.scale.double().flatten().square().diag()
    expected = factor @ factor.T + diagonal
    torch.testing.assert_close(logits.T.cov(), expected, atol=0.06, rtol=0.02)
    mean = gaussian.mean.double().flatten()
    assert logits.mean(0).allclose(mean, atol=0.02)


def test_likelihood_is_the_mean_over_draws_of_the_product_over_pixels():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(4, 2, 3, 2, 2, generator=generator).double()
    labels = torch.randint(3, (2, 2, 2, 2), generator=generator)
    labels[0, 1, 0, 1] = 255
    found = monte_carlo_likelihood(logits, labels)
    for b, a in np.ndindex(2, 2):
        products = np.ones(4)
        for s, y, x in np.ndindex(4, 2, 2):
            label = int(labels[b, a, y, x])
            if label != 255:
                products[s] *= float(logits[s, b, :, y, x].softmax(0)[label])
        assert found[b, a].item() == pytest.approx(np.log(products.mean()))


def test_likelihood_of_one_pixel_is_the_integral_over_the_gaussian():
    """Two classes at one pixel: sigmoid of a normal difference."""
    gaussian = random_gaussian(rank=1, size=(1, 1))
    z = torch.randn(200000, 1, 3, generator=torch.Generator())
    labels = torch.tensor([[[[0]], [[1]]]])
    found = monte_carlo_likelihood(gaussian.logits(z), labels)
    mean, factor = gaussian.mean.flatten(), gaussian.factor.flatten()
    m = float(mean[0] - mean[1])
    v = float((factor[0] - factor[1]) ** 2)
    v += float(gaussian.scale.square().sum())
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    p = np.sum(weights / (1 + np.exp(-m - np.sqrt(v) * nodes)))
    p /= np.sqrt(2 * np.pi)
    expected = torch.tensor([[np.log(p), np.log(1 - p)]]).float()
    torch.testing.assert_close(found, expected, atol=5e-3, rtol=0)


def model_and_batch(**changes):
    torch.manual_seed(0)
    model = MODELS.build(dict(METHODS['ssn'], **changes)).eval()
    data = model.data_preprocessor(toy_batch(), True)
    return model, model.train_batch(*data.values(), (0,))


def test_ignored_pixels_change_no_gradient_and_annotators_all_count():
    model, batch = model_and_batch(every_annotator=True)
    loss = model.losses('net', batch)['loss_likelihood']
    gaussian = model.encode(batch.image)
    z = model.draw_noise(batch.image, batch.data_samples, 5, (0,))
    likelihood = monte_carlo_likelihood(gaussian.logits(z), batch.labels())
    pixels = (batch.labels() != 255).sum()
    assert batch.labels().shape[1] == 3
    torch.testing.assert_close(loss, -likelihood.sum() / pixels)
    for sample in batch.data_samples:  # whatever lies under the mask
        assert (sample.gt_sem_segs.data[:, :2, :2] == 255).all()
    noise = torch.randn_like(gaussian.mean)
    noise[..., 2:, :] = 0
    noise[..., 2:] = 0
    moved = gaussian._replace(mean=gaussian.mean + noise)
    again = monte_carlo_likelihood(moved.logits(z), batch.labels())
    torch.testing.assert_close(again, likelihood)
