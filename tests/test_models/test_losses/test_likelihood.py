"""Cross entropies and the ELBO against loops over pixels."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from mmcar.models.losses import (
    ELBOLoss,
    LabelCrossEntropy,
    SampleBatch,
    SampleCrossEntropy,
)
from mmcar.models.losses.likelihood import standard_normal_kl
from mmcar.models.losses.pixel import label_cross_entropy

NUM_SAMPLES, CLASSES = 3, 4


def make_label():
    label = torch.randint(CLASSES, (2, 4, 5))
    label[0, 1:3] = 255
    return label


def make_batch():
    samples = torch.randn(NUM_SAMPLES, 2, CLASSES, 4, 5).double().softmax(2)
    return SampleBatch(
        mean=samples.mean(0),
        log_probs=samples[0].log(),
        label=make_label(),
        num_samples=NUM_SAMPLES,
        samples=samples,
        posterior=(torch.randn(2, 6).double(), torch.randn(2, 6).double()),
    )


def brute_force(probs, label, eps=0.0):
    """Loop over pixels of (K, H, W) probabilities and (H, W) labels."""
    values = []
    for i, j in np.ndindex(*label.shape):
        if label[i, j] != 255:
            p = probs[label[i, j], i, j].item()
            values.append(-math.log((1 - CLASSES * eps) * p + eps))
    return values


def test_hard_label():
    logits, label = torch.randn(2, CLASSES, 4, 5), make_label()
    values = [brute_force(logits[b].softmax(0), label[b]) for b in (0, 1)]
    expected = np.mean(np.concatenate(values))
    loss = LabelCrossEntropy(loss_weight=2.0)(logits, label)
    assert loss.item() == pytest.approx(2 * expected, rel=1e-5)
    other_id = torch.where(label == 255, 7, label)
    same = LabelCrossEntropy(2.0, ignore_index=7)(logits, other_id)
    assert same == loss
    logits.requires_grad_()
    nothing = LabelCrossEntropy()(logits, torch.full_like(label, 255))
    nothing.backward()
    assert nothing == 0 and (logits.grad == 0).all()


def test_soft_label_is_the_mean_over_annotators():
    logits = torch.randn(2, CLASSES, 4, 5)
    labels = torch.randint(CLASSES, (3, 2, 4, 5))
    soft = torch.nn.functional.one_hot(labels, CLASSES).float().mean(0)
    soft = soft.permute(0, 3, 1, 2)
    valid = torch.rand(2, 4, 5) < 0.7
    hard = [LabelCrossEntropy()(logits, y, valid).item() for y in labels]
    loss = LabelCrossEntropy()(logits, soft, valid)
    assert loss.item() == pytest.approx(np.mean(hard), rel=1e-5)
    assert loss != LabelCrossEntropy()(logits, soft)
    # A class of probability zero costs nothing where it never occurs.
    log_probs = torch.tensor([0.0, -torch.inf]).view(1, 2, 1, 1)
    assert label_cross_entropy(log_probs, log_probs.exp()) == 0


def test_sample_cross_entropy():
    batch = make_batch()
    values = [
        value
        for sample in batch.samples
        for b in (0, 1)
        for value in brute_force(sample[b], batch.label[b], eps=1e-6)
    ]
    loss = SampleCrossEntropy(loss_weight=5.0)(batch)
    assert loss.item() == pytest.approx(5 * np.mean(values), rel=1e-9)


def test_elbo_is_the_bound_divided_by_the_number_of_labelled_pixels():
    batch = make_batch()
    pixels = [
        brute_force(sample[b], batch.label[b], eps=1e-6)
        for sample in batch.samples
        for b in (0, 1)
    ]
    entropies = sum(map(sum, pixels)) / NUM_SAMPLES
    kl = standard_normal_kl(*batch.posterior).sum().item()
    labelled = int((batch.label != 255).sum())
    assert labelled == 2 * 20 - 10
    loss = ELBOLoss(beta=0.5, loss_weight=2.0)(batch)
    expected = 2 * (entropies + 0.5 * kl) / labelled
    assert loss.item() == pytest.approx(expected, rel=1e-9)


def test_elbo_of_a_kl_per_image():
    batch = make_batch()
    mean, logvar = batch.posterior
    posterior = Normal(mean, (0.5 * logvar).exp())
    prior = Normal(torch.zeros_like(mean), torch.ones_like(mean))
    kl = kl_divergence(posterior, prior).sum(1)
    assert torch.allclose(standard_normal_kl(mean, logvar), kl)
    loss = ELBOLoss(beta=0.1, loss_weight=2.0, per_pixel=False)(batch)
    expected = SampleCrossEntropy(2.0)(batch) + 2 * 0.1 * kl.mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-9)
    batch.posterior = None
    with pytest.raises(ValueError, match='ELBOLoss needs `posterior`'):
        ELBOLoss()(batch)


@pytest.mark.parametrize('value', ['onehot', 'zero', 'uniform'])
def test_extremes_are_finite(value):
    batch = make_batch()
    maps = {
        'onehot': torch.eye(CLASSES)[[1, 2, 3, 0]].view(1, 1, 4, 4, 1),
        'zero': torch.zeros(1, 1, 4, 4, 1),
        'uniform': torch.full((1, 1, 4, 4, 1), 1 / CLASSES),
    }
    samples = maps[value].expand_as(batch.samples).float().requires_grad_()
    batch.samples = samples
    loss = ELBOLoss()(batch)
    (grad,) = torch.autograd.grad(loss, samples)
    assert loss.isfinite() and grad.isfinite().all()
    assert grad.abs().sum() > 0
