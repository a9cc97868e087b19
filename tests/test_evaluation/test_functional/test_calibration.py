"""Calibration and class flips against loops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.classification import multiclass_calibration_error

from mmcar.evaluation import (
    calibration,
    class_area_sums,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)

from .. import brute_force as bf


def random_probs(k, size=(5, 7), seed=0):
    g = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(k, *size, generator=g)).softmax(0)


@settings(max_examples=30)
@given(
    seed=bf.seeds,
    a=st.integers(1, 3),
    bins=st.integers(1, 15),
    ignore=st.sampled_from([255, 7]),
    weighted=st.booleans(),
)
def test_all_sums_equal_a_loop_over_pixels(seed, a, bins, ignore, weighted):
    probs = random_probs(3, seed=seed % 2**31)
    labels = bf.maps(a, 3, ignore=ignore, seed=seed)
    weights = torch.rand(labels.shape) if weighted else None
    found = calibration(
        probs, labels, weights=weights, num_bins=bins, ignore_index=ignore
    )
    rows, scores, areas = np.zeros((3, bins)), np.zeros(3), np.zeros((2, 3))
    edges = torch.linspace(0, 1, bins + 1)
    for n, i, j in np.ndindex(*labels.shape):
        y, p = int(labels[n, i, j]), probs[:, i, j].tolist()
        if y == ignore:
            continue
        w = float(weights[n, i, j]) if weighted else 1.0
        own = [float(k == y) for k in range(3)]
        inside = [b for b in range(bins) if max(p) < edges[b + 1]]
        hit = p.index(max(p)) == y
        rows[:, (inside or [bins - 1])[0]] += w, w * max(p), w * hit
        brier = sum((q - o) ** 2 for q, o in zip(p, own, strict=True))
        scores += w, w * brier, -w * math.log(p[y])
        areas += w * np.array([p, own])
    np.testing.assert_allclose(found.sums, rows, atol=1e-9)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9)
    got = class_area_sums(probs, labels, weights=weights, ignore_index=ignore)
    np.testing.assert_allclose(got, areas, atol=1e-9)
    full = rows[0] > 0
    gaps = np.abs(rows[1] - rows[2])[full] / rows[0][full]
    want = (gaps * rows[0][full]).sum() / rows[0].sum()
    np.testing.assert_allclose(found.ece, want, atol=1e-9)
    np.testing.assert_allclose(found.mce, gaps.max(), atol=1e-9)
    means = scores[1:] / scores[0]
    np.testing.assert_allclose([found.brier, found.nll], means)


@pytest.mark.parametrize('bins', [5, 10, 15])
def test_errors_agree_with_torchmetrics(bins):
    probs = random_probs(4, (40, 40))
    label = bf.maps(1, 4, (40, 40), ignore=255)
    found = calibration(probs[:, :17], label[:, :17], num_bins=bins)
    found.update(probs[:, 17:], label[:, 17:])
    for norm, mine in (('l1', found.ece), ('max', found.mce)):
        theirs = multiclass_calibration_error(
            probs[None],
            label.long(),
            num_classes=4,
            n_bins=bins,
            norm=norm,
            ignore_index=255,
        )
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_unlabelled_labels_are_no_observations():
    probs, label = random_probs(3), bf.maps(1, 3)
    nothing = torch.full_like(label, 255)
    both = calibration(probs, torch.cat([label, nothing]))
    assert both.sums.equal(calibration(probs, label).sums)
    none = calibration(probs, nothing)
    assert none.count.sum() == 0
    assert all(x.isnan() for x in (none.ece, none.mce, none.brier, none.nll))


FLIPS = [(0, 2, 0.25), (1, 3, 0.5)]


def test_flipping_labels_count_with_their_probability():
    """Weights equal the mean over many drawn labels."""
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    probs = torch.rand(4, 5, 7).softmax(0)
    modes, weights = bf.modes(label, FLIPS)
    drawn = modes.repeat_interleave(
        torch.tensor(weights).mul(8).round().int(), dim=0
    )  # every mode as often as its probability, out of 8
    many = calibration(probs, drawn)
    labels, weights = flip_observations(label, FLIPS)
    exact = calibration(probs, labels, weights=weights)
    torch.testing.assert_close(many.sums, 8 * exact.sums)
    torch.testing.assert_close(many.scores, 8 * exact.scores)


def test_offsets():
    flips = [*FLIPS, (4, 5, 0.5)]
    label = torch.tensor([[0, 0, 1, 255]])
    probs = torch.zeros(6, 1, 4)
    probs[2, 0] = torch.tensor([0.5, 0.25, 1.0, 1.0])
    probs[3, 0] = torch.tensor([1.0, 1.0, 0.25, 1.0])
    sums = flip_probability_sums(probs, label, flips=flips)
    assert sums.tolist() == [[0.75, 2], [0.25, 1], [0, 0]]
    offsets = flip_offsets(sums + sums, flips)
    assert offsets[:2].tolist() == [0.125, 0.25] and offsets[2].isnan()
    mask = torch.tensor([[False, True, True, True]])
    sums = flip_probability_sums(probs, label, flips=flips, mask=mask)
    assert sums[0].tolist() == [0.25, 1]
