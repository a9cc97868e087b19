"""GED and HM-IoU as another library defines them, written anew.

lightning-uq-box 0.4.0 has both in ``eval_utils/segmentation_distribution.py``:
IoU of the foreground classes, 1 where a class is in neither map, all pairs of
maps with self-pairs; samples and labels repeated to the least common multiple
before they are matched.
"""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from mmcar.evaluation.functional import ged, hm_iou


def reference_ious(one, other, num_classes):
    """IoU of every pair, averaged over the foreground classes."""
    ious = np.empty((len(one), len(other), num_classes - 1))
    for i, j, k in np.ndindex(*ious.shape):
        a, b = one[i] == k + 1, other[j] == k + 1
        union = (a | b).sum()
        ious[i, j, k] = (a & b).sum() / union if union else 1.0
    return ious.mean(2)


def reference_ged(samples, labels, num_classes):
    pairs = (samples, labels), (samples, samples), (labels, labels)
    cross, *within = (
        1 - reference_ious(*maps, num_classes).mean() for maps in pairs
    )
    return 2 * cross - sum(within)


def reference_hm_iou(samples, labels, num_classes):
    ious = reference_ious(samples, labels, num_classes)
    size = math.lcm(*ious.shape)
    ious = ious.repeat(size // len(samples), 0)
    ious = ious.repeat(size // len(labels), 1)
    return ious[linear_sum_assignment(-ious)].mean()


def boxes(count, num_classes, size, rng):
    """Boxes of classes on background; every fourth map is empty."""
    maps = np.zeros((count, *size), np.int64)
    for i in range(count):
        for label in range(1, num_classes) if i % 4 != 3 else ():
            ends = (sorted(rng.integers(side, size=2)) for side in size)
            rows, columns = (slice(low, high + 1) for low, high in ends)
            maps[i, rows, columns] = label
    return maps


@pytest.mark.parametrize(
    ('number', 'annotators', 'num_classes', 'size'),
    [
        *((16, 4, 2, (128, 128)), (50, 4, 2, (16, 16)), (7, 3, 4, (20, 33))),
        *((5, 2, 3, (1, 9)), (1, 6, 2, (16, 16))),
    ],
)
def test_scores_are_those_of_lightning_uq_box(
    number, annotators, num_classes, size
):
    rng = np.random.default_rng(number)
    maps = [boxes(n, num_classes, size, rng) for n in (number, annotators)]
    classes = tuple(range(1, num_classes))
    how = dict(num_classes=num_classes, classes=classes, absent='one')
    for score, reference in (ged, reference_ged), (hm_iou, reference_hm_iou):
        found = score(*map(torch.from_numpy, maps), **how)
        expected = reference(*maps, num_classes)
        assert found.item() == pytest.approx(expected, abs=1e-6)
