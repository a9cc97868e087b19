"""The matching loss against all permutations, and its properties."""

from itertools import permutations

import numpy as np
import pytest
import torch
from mmseg.registry import MODELS

from mmcar.evaluation.functional.hm_iou import hungarian_matched_iou
from mmcar.models.losses import SampleBatch
from mmcar.models.losses.matching import MatchingLoss, matched_distance


def make_batch(samples, labels, **kwargs):
    return SampleBatch(
        mean=samples.mean(0),
        log_probs=samples.mean(0).log(),
        label=labels[:, 0],
        num_samples=len(samples),
        samples=samples,
        labels=labels,
        **kwargs,
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
        found = matched_distance(torch.from_numpy(costs)).item()
        assert found == pytest.approx(best)


def test_is_one_minus_hm_iou_of_crisp_samples():
    torch.manual_seed(0)
    maps = torch.randint(0, 2, (6, 3, 5, 5))  # (M, B, H, W)
    labels = torch.randint(0, 2, (3, 4, 5, 5))
    samples = torch.stack([1.0 - maps, 1.0 * maps], dim=2)
    loss = MatchingLoss(loss_weight=2.0, classes=(1,), smooth=0.0)
    binary = dict(num_classes=2, classes=(1,))
    expected = np.mean(
        [
            1 - hungarian_matched_iou(maps[:, b], labels[b], **binary).item()
            for b in range(3)
        ]
    )
    found = loss(make_batch(samples, labels)).item()
    assert found == pytest.approx(2 * expected, rel=1e-5)


def test_ignored_pixels_and_maps_do_not_count():
    torch.manual_seed(0)
    samples = torch.rand(4, 2, 2, 5, 5).softmax(2)
    labels = torch.randint(0, 2, (2, 3, 5, 5))
    labels[0, 2] = 255
    labels[1] = 255
    loss = MatchingLoss(classes=(1,))
    found = loss(make_batch(samples, labels))
    alone = loss(make_batch(samples[:, :1], labels[:1, :2]))
    assert torch.allclose(found, alone)
    labels[0, :, 0] = 255
    changed = samples.clone()
    changed[:, :, :, 0] = 0.5
    before = loss(make_batch(samples, labels))
    assert torch.allclose(before, loss(make_batch(changed, labels)))
    labels[:] = 255
    nothing = loss(make_batch(samples.requires_grad_(), labels))
    nothing.backward()
    assert nothing == 0 and not samples.grad.any()


def test_nan_reaches_the_trainer():
    distances = torch.tensor([[0.1, float('nan')], [0.8, 0.3]])
    assert matched_distance(distances).isnan()


def test_gradient_is_that_of_the_matched_pairs():
    distances = torch.tensor([[0.1, 0.9], [0.8, 0.3]], requires_grad=True)
    matched_distance(distances).backward()
    assert torch.equal(distances.grad, torch.eye(2) / 2)


def test_without_labels_of_all_annotators_the_drawn_one_counts():
    samples = torch.rand(3, 2, 2, 4, 4).softmax(2)
    labels = torch.randint(0, 2, (2, 1, 4, 4))
    loss = MatchingLoss()
    batch = make_batch(samples, labels)
    found = loss(batch)
    batch.labels = None
    assert torch.equal(loss(batch), found)


def test_refuses():
    with pytest.raises(ValueError, match='smooth'):
        MODELS.build(dict(type='MatchingLoss', smooth=-1))
    samples = torch.rand(3, 2, 2, 4, 4).softmax(2)
    labels = torch.randint(0, 2, (2, 2, 4, 4))
    batch = make_batch(samples, labels, label_weights=torch.ones(2, 2))
    with pytest.raises(ValueError, match='equal weight'):
        MatchingLoss()(batch)
