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

from mmcar.evaluation.functional import (
    ged,
    hm_iou,
)

# Samples, labels, classes, height, width.
SHAPES = [
    (16, 4, 2, 128, 128),
    (50, 4, 2, 16, 16),
    (7, 3, 4, 20, 33),
    (5, 2, 3, 1, 9),
    (1, 6, 2, 16, 16),
]


def reference_ious(one, other, num_classes):
    """IoU of every pair, averaged over the foreground classes."""
    ious = np.empty((len(one), len(other)))
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            values = []
            for label in range(1, num_classes):
                union = ((a == label) | (b == label)).sum()
                inter = ((a == label) & (b == label)).sum()
                values.append(inter / union if union else 1.0)
            ious[i, j] = np.mean(values)
    return ious


def reference_ged(samples, labels, num_classes):
    def distance(one, other):
        return (1 - reference_ious(one, other, num_classes)).mean()

    within = distance(samples, samples) + distance(labels, labels)
    return 2 * distance(samples, labels) - within


def reference_hm_iou(samples, labels, num_classes):
    ious = reference_ious(samples, labels, num_classes)
    size = math.lcm(*ious.shape)
    ious = ious.repeat(size // len(samples), 0)
    ious = ious.repeat(size // len(labels), 1)
    return ious[linear_sum_assignment(-ious)].mean()


def blobs(count, num_classes, height, width, rng):
    """Boxes of classes on background; every fourth map is empty."""
    maps = np.zeros((count, height, width), np.int64)
    for i in range(count):
        for label in range(1, num_classes) if i % 4 != 3 else ():
            top, left = rng.integers(height), rng.integers(width)
            bottom, right = rng.integers(height), rng.integers(width)
            rows = slice(min(top, bottom), max(top, bottom) + 1)
            columns = slice(min(left, right), max(left, right) + 1)
            maps[i, rows, columns] = label
    return maps


@pytest.mark.parametrize('shape', SHAPES)
def test_scores_are_those_of_lightning_uq_box(shape):
    samples, labels, num_classes, *size = shape
    rng = np.random.default_rng(sum(shape))
    s = blobs(samples, num_classes, *size, rng)
    y = blobs(labels, num_classes, *size, rng)
    how = dict(
        num_classes=num_classes,
        classes=tuple(range(1, num_classes)),
        absent='one',
    )
    maps = torch.from_numpy(s), torch.from_numpy(y)
    expected = reference_ged(s, y, num_classes)
    assert ged(*maps, **how).item() == pytest.approx(expected, abs=1e-6)
    expected = reference_hm_iou(s, y, num_classes)
    assert hm_iou(*maps, **how).item() == pytest.approx(expected, abs=1e-6)
