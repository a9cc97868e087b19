"""A scaling is the maximum-likelihood one, whatever fits it."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mmcar.inference.scaling_fit import Pixels, cross_entropy, fit_scaling
from mmcar.models.calibration_nets.scaling import (
    METHODS,
    identity_parameters,
    rescale,
)

CLASSES = 3


def make_pixels(number=4000, sharpness=2.5, classes=CLASSES, seed=0):
    """Labels drawn from a truth; the model is too sure of it."""
    torch.manual_seed(seed)
    logits = torch.randn(number, classes, dtype=torch.float64)
    truth = (logits * 1.5).softmax(1)
    label = torch.multinomial(truth, 1)[:, 0]
    one_hot = torch.eye(classes, dtype=torch.float64)[label]
    predicted = logits * 1.5 * sharpness + torch.tensor([0.5, 0.0, -0.3])
    return Pixels(predicted.log_softmax(1), one_hot, torch.ones(number)), label


def by_scipy(pixels, method):
    """Minimise the cross entropy without our gradients."""
    start = identity_parameters(method, CLASSES)
    sizes = [value.numel() for value in start]

    def loss(flat):
        parts = torch.from_numpy(flat).split(sizes)
        weight, bias = (
            part.view(value.shape)
            for part, value in zip(parts, start, strict=True)
        )
        return cross_entropy(pixels, method, weight, bias)

    flat = np.concatenate([v.flatten().double().numpy() for v in start])
    return minimize(loss, flat, method='Powell', options=dict(ftol=1e-12)).fun


# Of the others, logistic regression is the reference.
@pytest.mark.parametrize('method', ['temperature', 'class-affine', 'vector'])
def test_agrees_with_a_search_without_gradients(method):
    pixels, _ = make_pixels()
    fit = fit_scaling(pixels, method)
    assert fit.refused is None
    assert fit.nll_after < fit.nll_before - 0.1
    assert fit.nll_after == pytest.approx(by_scipy(pixels, method), abs=2e-5)


def test_temperature_recovers_the_truth():
    torch.manual_seed(0)
    logits = torch.randn(200_000, CLASSES, dtype=torch.float64)
    targets = logits.softmax(1)  # soft targets, as annotators' mean is
    pixels = Pixels((3 * logits).log_softmax(1), targets, torch.ones(200_000))
    fit = fit_scaling(pixels, 'temperature', ridge=0.0)
    assert 1 / fit.weight.item() == pytest.approx(3, abs=1e-5)


@pytest.mark.parametrize('method', ['matrix', 'dirichlet'])
def test_matrices_are_multinomial_logistic_regression(method, monkeypatch):
    monkeypatch.setattr('mmcar.inference.scaling_fit.CHUNK', 777)
    pixels, label = make_pixels()
    x = pixels.log_probs
    if method == 'matrix':
        x = x - x.mean(1, keepdim=True)
    reference = LogisticRegression(C=1e8, max_iter=5000, tol=1e-10)
    reference.fit(x.numpy(), label.numpy())
    expected = torch.from_numpy(reference.predict_proba(x.numpy()))
    fit = fit_scaling(pixels, method, ridge=1e-9)
    found = rescale(pixels.log_probs, method, fit.weight, fit.bias)
    torch.testing.assert_close(found.exp(), expected, rtol=0, atol=1e-3)


def test_dirichlet_of_two_classes_is_beta_calibration():
    """log-odds a log p - b log(1 - p) + c: more than a centred matrix."""
    torch.manual_seed(0)
    p = torch.rand(20_000, dtype=torch.float64) * 0.98 + 0.01
    log_odds = 0.4 * p.log() - 1.5 * (1 - p).log() - 0.3
    truth = torch.stack((-log_odds, log_odds), 1).log_softmax(1)
    log_probs = torch.stack((1 - p, p), 1).log()
    pixels = Pixels(log_probs, truth.exp(), torch.ones(len(p)))
    fit = fit_scaling(pixels, 'dirichlet', ridge=0.0)
    found = rescale(log_probs, 'dirichlet', fit.weight, fit.bias)
    torch.testing.assert_close(found, truth, rtol=0, atol=1e-3)
    for method in ('vector', 'matrix'):
        other = fit_scaling(pixels, method, ridge=0.0)
        assert other.nll_after > fit.nll_after + 0.003


@pytest.mark.parametrize('method', METHODS)
def test_does_not_diverge_where_the_model_is_always_right(method):
    pixels, _ = make_pixels()
    targets = torch.eye(CLASSES).double()[pixels.log_probs.argmax(1)]
    fit = fit_scaling(pixels._replace(targets=targets), method)
    assert fit.weight.isfinite().all() and fit.bias.isfinite().all()
    assert fit.nll_after <= fit.nll_before


def test_refuses_a_temperature_that_turns_probabilities_around():
    pixels, _ = make_pixels()
    worst = torch.eye(CLASSES).double()[pixels.log_probs.argmin(1)]
    fit = fit_scaling(pixels._replace(targets=worst), 'temperature')
    assert 'turn the probabilities around' in fit.refused
    assert fit.weight == 1 and fit.nll_after == fit.nll_before


@pytest.mark.parametrize('method', ['vector', 'dirichlet'])
def test_a_class_that_never_occurs_is_left_alone(method):
    pixels, _ = make_pixels()
    targets = pixels.targets.clone()
    targets[:, 0] += targets[:, 2]
    targets[:, 2] = 0
    fit = fit_scaling(pixels._replace(targets=targets), method)
    assert fit.unseen == (2,)
    neutral = identity_parameters(method, CLASSES)
    assert torch.equal(fit.weight[2], neutral[0][2].double())
    assert fit.bias[2] == 0


def test_weights_count_as_repetitions():
    pixels, _ = make_pixels(300)
    times = torch.randint(1, 4, (300,))
    repeated = Pixels(
        pixels.log_probs.repeat_interleave(times, 0),
        pixels.targets.repeat_interleave(times, 0),
        torch.ones(int(times.sum())),
    )
    weighted = fit_scaling(pixels._replace(weights=times.float()), 'vector')
    expected = fit_scaling(repeated, 'vector')
    torch.testing.assert_close(weighted.weight, expected.weight)
