"""Losses against loops over pixels and classes, written from the formulas."""

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch.distributions import Normal, kl_divergence

from mmcar.models.losses import (
    AdversarialLoss,
    CalibrationLoss,
    ELBOLoss,
    LabelCrossEntropy,
    SampleBatch,
    SampleCrossEntropy,
)
from mmcar.models.losses.base import masked_mean
from mmcar.models.losses.pixel_losses import label_cross_entropy
from mmcar.models.losses.sample_losses import (
    DIVERGENCES,
    pixel_divergence,
    standard_normal_kl,
)

EPS = 1e-3


def probs(*shape, seed=0, dim=1):
    rng = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(*shape, generator=rng, dtype=torch.float64)
    return logits.softmax(dim)


def brute_force(mean, target, divergence, mask, eps=EPS):
    """Loops over pixels; ``mean`` is the first argument of reverse KL."""
    mean, target = mean.numpy(), target.numpy()
    batch, classes, height, width = mean.shape
    total, count = 0.0, 0
    for b, i, j in np.ndindex(batch, height, width):
        if not mask[b, i, j]:
            continue
        count += 1
        for k in range(classes):
            s, f = mean[b, k, i, j], target[b, k, i, j]
            if divergence == 'squared_error':
                total += 0.5 * (s - f) ** 2
                continue
            s = s * (1 - classes * eps) + eps
            f = f * (1 - classes * eps) + eps
            m = (s + f) / 2
            total += {
                'reverse_kl': s * math.log(s / f),
                'forward_kl': f * math.log(f / s),
                'js': 0.5 * s * math.log(s / m) + 0.5 * f * math.log(f / m),
            }[divergence]
    return total / count


def make_batch(num_samples=5, classes=3):
    samples = probs(num_samples, 2, classes, 4, 5, seed=1, dim=2)
    label = torch.randint(classes, (2, 4, 5))
    label[0, :2] = 255
    label[1, 3, 4] = 255
    return SampleBatch(
        mean=samples.mean(0),
        log_probs=probs(2, classes, 4, 5, seed=2).log(),
        label=label,
        num_samples=num_samples,
        samples=samples,
        fake_logits=torch.randn(num_samples, 2, dtype=torch.float64),
        posterior=(*torch.randn(2, 2, 6, dtype=torch.float64),),
    )


def calibration_loss(mean, target, divergence, mask=None, eps=1e-3):
    values = pixel_divergence(mean, target, divergence, eps)
    return values.mean() if mask is None else masked_mean(values, mask)


@pytest.mark.parametrize('divergence', DIVERGENCES)
class TestDivergences:
    def test_brute_force(self, divergence):
        batch = make_batch()
        mask = batch.label != 255
        target = batch.log_probs.exp()
        expected = brute_force(batch.mean, target, divergence, mask)
        actual = calibration_loss(batch.mean, target, divergence, mask, EPS)
        assert actual.item() == pytest.approx(expected, rel=1e-10)
        loss = CalibrationLoss(divergence, eps=EPS, loss_weight=3.0)
        assert loss(batch).item() == pytest.approx(3 * expected, rel=1e-10)

    @pytest.mark.parametrize('target', [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    def test_extremes_are_finite_and_pulled_back(self, divergence, target):
        mean = torch.tensor([1.0, 0.0]).view(1, 2, 1, 1).requires_grad_()
        target = torch.tensor(target).view(1, 2, 1, 1)
        loss = calibration_loss(mean, target, divergence)
        loss.backward()
        assert loss.isfinite() and mean.grad.isfinite().all()
        assert (loss == 0) == torch.equal(mean, target)
        first, second = mean.grad.flatten()
        assert (first > second) == (loss > 0)

    def test_gradcheck(self, divergence):
        mean = probs(1, 3, 2, 2, seed=5).requires_grad_()
        target = probs(1, 3, 2, 2, seed=6)
        mask = torch.tensor([[[True, False], [True, True]]])
        loss = partial(calibration_loss, divergence=divergence, mask=mask)
        assert torch.autograd.gradcheck(lambda x: loss(x, target), (mean,))

    def test_ignored_pixels_carry_nothing(self, divergence):
        batch = make_batch()
        before = CalibrationLoss(divergence)(batch)
        batch.mean = batch.mean.clone()
        batch.mean.permute(0, 2, 3, 1)[batch.label == 255] = float('nan')
        assert CalibrationLoss(divergence)(batch) == before
        batch = make_batch()
        batch.label.fill_(255)
        batch.mean.requires_grad_()
        loss = CalibrationLoss(divergence)(batch)
        loss.backward()
        assert loss == 0 and (batch.mean.grad == 0).all()


class TestAsInTheAuthorsCode:
    loss = CalibrationLoss(
        floor='clamp', count_ignored=True, loss_weight=3.0, eps=EPS
    )

    def test_brute_force(self):
        batch = make_batch()
        sharp = torch.linspace(-9, 9, batch.mean.numel(), dtype=torch.float64)
        batch.mean = sharp.view_as(batch.mean).softmax(1)
        batch.mean[0, :, 3, 0] = torch.tensor([1.0, 0.0, 0.0])
        target = batch.log_probs.exp()
        total = 0.0
        for b, i, j in np.ndindex(2, 4, 5):
            if batch.label[b, i, j] == 255:
                continue
            for x, y in zip(batch.mean[b], target[b], strict=True):
                p, q = np.clip((x[i, j], y[i, j]), EPS, 1 - EPS)
                total += p * math.log(p) - p * math.log(q)
        pixels = 2 * 4 * 5  # ignored ones included
        assert self.loss(batch).item() == pytest.approx(3 * total / pixels)

    @pytest.mark.parametrize(('floor', 'pulled'), [('mix', 1), ('clamp', 0)])
    def test_gradient_at_a_collapsed_mean(self, floor, pulled):
        batch = make_batch(classes=2)
        collapsed = torch.zeros(2, 2, 4, 5, dtype=torch.float64)
        collapsed[:, 0] = 1
        batch.mean = collapsed.requires_grad_()
        CalibrationLoss(floor=floor)(batch).backward()
        assert (batch.mean.grad.abs().max() > 0) == pulled


@pytest.mark.parametrize(
    'wrong',
    [
        dict(divergence='kl'),
        dict(divergence='reverse_kl', unbiased=True),
        dict(type='AdversarialLoss', mode='wgan'),
    ],
)
def test_unknown_options_are_refused(wrong):
    key = list(wrong)[-1]
    with pytest.raises(ValueError, match=key):
        MODELS.build(dict(type='CalibrationLoss') | wrong)


class TestUnbiased:
    loss = CalibrationLoss('squared_error', unbiased=True, loss_weight=1.0)

    def test_brute_force(self):
        """The mean over pairs i != j of (s_i - f)(s_j - f) / 2."""
        batch = make_batch(num_samples=4)
        gap = (batch.samples - batch.log_probs.exp()).numpy()
        mask = (batch.label != 255).numpy()
        pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
        expected = np.mean(
            [(gap[i] * gap[j]).sum(1)[mask].mean() / 2 for i, j in pairs]
        )
        assert self.loss(batch).item() == pytest.approx(expected, rel=1e-9)


GENERATOR = {
    'non_saturating': lambda x: math.log(1 + math.exp(-x)),
    'hinge': lambda x: -x,
    'least_squares': lambda x: 0.5 * (x - 1) ** 2,
}
REAL = GENERATOR | {'hinge': lambda x: max(0, 1 - x)}
FAKE = {
    'non_saturating': lambda x: -math.log(1 - 1 / (1 + math.exp(-x))),
    'hinge': lambda x: max(0, 1 + x),
    'least_squares': lambda x: 0.5 * x**2,
}


@pytest.mark.parametrize('mode', list(REAL))
class TestAdversarial:
    def test_brute_force(self, mode):
        loss = AdversarialLoss(mode, loss_weight=7.0)
        real = 2 * torch.randn(3, 2, 2, dtype=torch.float64)
        batch = make_batch()
        fake = batch.fake_logits
        over = {n: v.flatten().tolist() for n, v in (('r', real), ('f', fake))}
        generator = np.mean([GENERATOR[mode](x) for x in over['f']])
        discriminator = np.mean([REAL[mode](x) for x in over['r']])
        discriminator += np.mean([FAKE[mode](x) for x in over['f']])
        assert loss.generator(fake).item() == pytest.approx(generator)
        assert loss(batch).item() == pytest.approx(7 * generator)
        found = loss.discriminator(real, fake).item()
        assert found == pytest.approx(discriminator)

    def test_accuracy_counts_from_where_d_is_undecided(self, mode):
        loss = AdversarialLoss(mode)
        undecided = 0.5 if mode == 'least_squares' else 0.0
        higher = undecided + torch.tensor([0.1, 0.3, 3.0, -0.1])
        assert loss.accuracy(higher, -higher + 2 * undecided) == 0.75
        assert loss.accuracy(-higher + 2 * undecided, higher) == 0.25


def entropies_of(probs, label, eps=0.0):
    """Loop over pixels of (K, H, W) probabilities and (H, W) labels."""
    values = []
    for i, j in np.ndindex(*label.shape):
        if label[i, j] != 255:
            p = probs[label[i, j], i, j].item()
            values.append(-math.log((1 - len(probs) * eps) * p + eps))
    return values


def test_hard_label():
    logits, label = torch.randn(2, 3, 4, 5), make_batch().label
    values = [entropies_of(logits[b].softmax(0), label[b]) for b in (0, 1)]
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
    logits = torch.randn(2, 3, 4, 5)
    labels = torch.randint(3, (3, 2, 4, 5))
    soft = F.one_hot(labels, 3).float().mean(0)
    soft = soft.permute(0, 3, 1, 2)
    valid = torch.rand(2, 4, 5) < 0.7
    hard = [LabelCrossEntropy()(logits, y, valid).item() for y in labels]
    loss = LabelCrossEntropy()(logits, soft, valid)
    assert loss.item() == pytest.approx(np.mean(hard), rel=1e-5)
    assert loss != LabelCrossEntropy()(logits, soft)
    # A class of probability zero costs nothing where it never occurs.
    log_probs = torch.tensor([0.0, -torch.inf]).view(1, 2, 1, 1)
    assert label_cross_entropy(log_probs, log_probs.exp()) == 0


def test_elbo_is_the_bound_divided_by_the_number_of_labelled_pixels():
    batch = make_batch()
    pixels = [
        entropies_of(sample[b], batch.label[b], eps=1e-6)
        for sample in batch.samples
        for b in (0, 1)
    ]
    entropies = sum(map(sum, pixels)) / batch.num_samples
    loss = SampleCrossEntropy(loss_weight=5.0)(batch)
    expected = 5 * np.mean(np.concatenate(pixels))
    assert loss.item() == pytest.approx(expected, rel=1e-9)
    kl = standard_normal_kl(*batch.posterior).sum().item()
    labelled = int((batch.label != 255).sum())
    assert labelled == 2 * 20 - 11
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
    with pytest.raises(ValueError, match='ELBOLoss'):
        ELBOLoss()(batch)
