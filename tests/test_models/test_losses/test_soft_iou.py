"""Energy and matching losses against loops over pairs and permutations."""

from itertools import permutations

import numpy as np
import pytest
import torch

from mmcar.evaluation.functional.distances import ged_terms, hm_iou
from mmcar.models.losses import SampleBatch
from mmcar.models.losses.soft_iou import (
    EnergyLoss,
    MatchingLoss,
    matched_distance,
)


def energy_loss(samples, labels, classes=None, **kwargs):
    """The loss of a batch, without a weight."""
    loss = EnergyLoss(loss_weight=1.0, classes=classes, **kwargs)
    return loss(matched_batch(samples, labels))


def distance(a, b, mask, classes, smooth):
    """1 - sum of minima / sum of maxima of (K, P) maps, mean of classes."""
    values = []
    for c in classes:
        low = sum(np.minimum(a[c], b[c])[mask]) + smooth
        high = sum(np.maximum(a[c], b[c])[mask]) + smooth
        values.append(1 - low / high if high else 0.0)
    return np.mean(values)


def brute_force(samples, labels, classes, smooth=1.0, unbiased=True):
    """Loop over images, samples and labels."""
    samples = samples.detach().double().numpy()
    samples = samples.reshape(*samples.shape[:3], -1)
    num_samples, batch, num_classes, pixels = samples.shape
    labels = labels.numpy().reshape(*labels.shape[:2], pixels)
    results = []
    for b in range(batch):
        to_label, total = 0.0, 0.0
        seen = np.zeros(pixels, bool)
        for label in labels[b]:
            mask = label != 255
            if not mask.any():
                continue
            seen |= mask
            onehot = np.stack([label == c for c in range(num_classes)]) * 1.0
            total += 1
            for s in samples[:, b]:
                d = distance(s, onehot, mask, classes, smooth)
                to_label += d / num_samples
        if not total:
            continue
        among = [
            distance(samples[i, b], samples[j, b], seen, classes, smooth)
            for i in range(num_samples)
            for j in range(num_samples)
            if i != j or not unbiased
        ]
        results.append(2 * to_label / total - np.mean(among))
    return np.mean(results)


def make_case(num_samples=4, batch=3, classes=3, annotators=3):
    logits = 2 * torch.randn(num_samples, batch, classes, 4, 5).double()
    labels = torch.randint(classes, (batch, annotators, 4, 5))
    labels = labels.to(torch.uint8)
    labels[0, 0, :2] = 255
    labels[0, :, 3] = 255  # ignored by all
    labels[1, -1] = 255  # padding
    return logits.softmax(2), labels


@pytest.mark.parametrize(
    ('classes', 'smooth', 'unbiased'),
    [(None, 0.0, True), (None, 1.0, False), ((1,), 1.0, True), ((2, 0), 0, 0)],
)
def test_brute_force(classes, smooth, unbiased):
    samples, labels = make_case()
    how = dict(smooth=smooth, unbiased=unbiased)
    expected = brute_force(samples, labels, classes or range(3), **how)
    actual = energy_loss(samples, labels, classes, **how)
    assert actual.item() == pytest.approx(expected, rel=1e-9)


def test_of_two_classes_the_foreground_counts_of_more_all():
    for number, classes in ((2, [1]), (3, [0, 1, 2])):
        samples, labels = make_case(classes=number)
        expected = brute_force(samples, labels, classes)
        found = energy_loss(samples, labels).item()
        assert found == pytest.approx(expected, rel=1e-9)
        batch = matched_batch(samples, labels)
        found = MatchingLoss()(batch), MatchingLoss(classes=classes)(batch)
        assert found[0] == found[1]


def test_image_without_labels_is_left_out():
    samples, labels = make_case()
    labels[2] = 255
    expected = brute_force(samples, labels, range(3))
    actual = energy_loss(samples, labels)
    assert actual.item() == pytest.approx(expected, rel=1e-9)
    labels.fill_(255)
    assert energy_loss(samples, labels) == 0


def test_expectation_is_smallest_at_the_true_distribution():
    """A proper score: modes of weight .3 / .7 are best met by .3 / .7."""
    modes = torch.zeros(2, 2, 1, 6)
    modes[0, 1, 0, :4] = 1
    modes[1, 1, 0, 3:] = 1
    modes[:, 0] = 1 - modes[:, 1]
    labels = modes.argmax(1)[[0] * 3 + [1] * 7][None]  # (1, 10, 1, 6)

    def score(count):
        """Expected loss where the first mode has frequency count / 10."""
        samples = modes[[0] * count + [1] * (10 - count)].unsqueeze(1)
        return energy_loss(samples, labels, unbiased=False).item()

    scores = [score(count) for count in range(11)]
    assert int(np.argmin(scores)) == 3


def test_gradcheck():
    samples, labels = make_case(num_samples=3, batch=2, classes=2)
    samples, labels = samples[..., :2, :4], labels[..., 1:3, :4]
    samples = samples.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: energy_loss(x, labels, (0, 1)), (samples,)
    )


@pytest.mark.parametrize(
    ('value', 'smooth'),
    [('onehot', 0), ('zero', 0), ('zero', 1), ('uniform', 0)],
)
def test_extremes_are_finite(value, smooth):
    maps = {
        'onehot': torch.eye(3)[torch.randint(3, (4, 2, 4, 4))],
        'zero': torch.zeros(4, 2, 4, 4, 3),
        'uniform': torch.full((4, 2, 4, 4, 3), 1 / 3),
    }
    samples = maps[value].movedim(-1, 2).clone().requires_grad_()
    labels = torch.randint(2, (2, 3, 4, 4))  # class 2 is absent
    loss = energy_loss(samples, labels, smooth=smooth)
    loss.backward()
    assert loss.isfinite() and samples.grad.isfinite().all()


def matched_batch(samples, labels, label=None):
    return SampleBatch(
        mean=samples.mean(0),
        log_probs=samples.mean(0).log(),
        label=labels[:, 0].long() if label is None else label,
        num_samples=len(samples),
        samples=samples,
        labels=labels,
    )


def test_matching_against_all_permutations():
    random = np.random.default_rng(0)
    for rows, columns in ((3, 3), (2, 4), (4, 2), (2, 3), (3, 2)):
        costs = random.random((rows, columns))
        size = np.lcm(rows, columns)
        repeated = costs.repeat(size // rows, 0).repeat(size // columns, 1)
        best = min(
            repeated[np.arange(size), list(order)].mean()
            for order in permutations(range(size))
        )
        found = matched_distance(*[torch.from_numpy(costs)] * 2).item()
        assert found == pytest.approx(best)


def test_crisp_samples_have_one_minus_hm_iou_and_the_unbiased_ged():
    torch.manual_seed(0)
    maps = torch.randint(0, 2, (6, 3, 5, 5))  # (M, B, H, W)
    labels = torch.randint(0, 2, (3, 4, 5, 5))
    maps[:2] = labels[:, 1] = 0  # two maps without foreground agree
    samples = torch.stack([1.0 - maps, 1.0 * maps], dim=2)
    loss = MatchingLoss(loss_weight=2.0, classes=(1,), smooth=0.0)
    binary = dict(num_classes=2, classes=(1,))
    expected = np.mean(
        [1 - hm_iou(maps[:, b], labels[b], **binary).item() for b in range(3)]
    )
    found = loss(matched_batch(samples, labels)).item()
    assert found == pytest.approx(2 * expected, rel=1e-5)
    how = binary | dict(absent='one')
    terms = [ged_terms(maps[:, b], labels[b], **how) for b in range(3)]
    expected = np.mean([2 * t.cross - t.samples * 6 / 5 for t in terms])
    found = energy_loss(samples, labels, (1,), smooth=0.0).item()
    assert found == pytest.approx(expected, rel=1e-5)


def test_matching_leaves_out_ignored_pixels_and_maps():
    torch.manual_seed(0)
    samples = torch.rand(4, 2, 2, 5, 5).softmax(2)
    labels = torch.randint(0, 2, (2, 3, 5, 5))
    labels[0, 2] = 255
    labels[1] = 255
    loss = MatchingLoss(classes=(1,))
    found = loss(matched_batch(samples, labels))
    alone = loss(matched_batch(samples[:, :1], labels[:1, :2]))
    assert torch.allclose(found, alone)
    labels[0, :, 0] = 255
    changed = samples.clone()
    changed[:, :, :, 0] = 0.5
    before = loss(matched_batch(samples, labels))
    assert torch.allclose(before, loss(matched_batch(changed, labels)))
    labels[:] = 255
    nothing = loss(matched_batch(samples.requires_grad_(), labels))
    nothing.backward()
    assert nothing == 0 and not samples.grad.any()


def test_nan_reaches_the_trainer():
    distances = torch.tensor([[0.1, float('nan')], [0.8, 0.3]])
    assert matched_distance(distances, distances).isnan()


def test_gradient_is_that_of_the_matched_pairs():
    distances = torch.tensor([[0.1, 0.9], [0.8, 0.3]], requires_grad=True)
    matched_distance(distances, distances.detach()).backward()
    assert torch.equal(distances.grad, torch.eye(2) / 2)


def test_refuses():
    samples, labels = make_case(num_samples=1)
    with pytest.raises(ValueError, match='num_samples=1'):
        energy_loss(samples, labels)
    with pytest.raises(ValueError, match='classes='):  # no last class
        energy_loss(samples.repeat(2, 1, 1, 1, 1), labels, (0, -1))
