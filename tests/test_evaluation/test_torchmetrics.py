"""The classes score as the functions do, in one process and in two."""

import pytest
import torch

from mmcar.evaluation import calibration, ged, hm_iou
from mmcar.utils.errors import UserError

from . import brute_force as bf
from .ranks import on_two_ranks

pytest.importorskip('torchmetrics')
from mmcar.evaluation.torchmetrics import GED, Calibration, HMIoU


def images(number=5):
    g = torch.Generator().manual_seed(0)
    probs = torch.randn(number, 3, 5, 7, generator=g).softmax(1)
    samples = torch.stack([bf.maps(4, 3, seed=i) for i in range(number)])
    labels = [bf.maps(2, 3, ignore=255, seed=9 + i) for i in range(number)]
    labels[1][:] = 255  # has no score
    return samples, torch.stack(labels), probs


def scored(places):
    """What the metrics say of some images, batch by batch."""
    metrics = GED(3), HMIoU(3, absent='one'), Calibration(num_bins=5)
    samples, labels, probs = images()
    for batch in torch.tensor(places).split(2):
        metrics[0].update(samples[batch], labels[batch])
        metrics[1].update(samples[batch].numpy(), labels[batch].numpy())
        metrics[2].update(probs[batch], labels[batch])
    found = [metric.compute() for metric in metrics]
    return {'GED': found[0], 'HM-IoU': found[1]} | found[2]


def test_means_of_the_functions():
    found = scored(range(5))
    samples, labels, probs = images()
    matched = hm_iou(samples, labels, num_classes=3, absent='one')
    wanted = {
        'GED': ged(samples, labels, num_classes=3).nanmean(),
        'HM-IoU': matched.nanmean(),
        **calibration(probs, labels, num_bins=5).figures(),
    }
    torch.testing.assert_close(found, wanted)


def test_reset_forward_and_a_wrong_order():
    samples, labels, _ = images()
    metric = GED(3, num_samples=4)
    metric.update(samples, labels)
    first = metric.compute()
    metric.reset()
    weights = torch.tensor([1, 0, 0, 2])
    batch = metric(samples[:1], labels[:1], weights)
    how = dict(num_classes=3, sample_weights=weights)
    assert batch == ged(samples[:1], labels[:1], **how) != first
    with pytest.raises(UserError, match='num_samples=4'):
        metric.update(samples[:, :2], labels)


def of_a_rank(rank):
    return scored(range(5)[rank::2])


def test_two_processes_score_as_one(tmp_path):
    for found in on_two_ranks(of_a_rank, tmp_path):
        torch.testing.assert_close(found, scored(range(5)))
