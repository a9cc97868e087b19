import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.classification import multiclass_calibration_error

from mmcar.evaluation import (
    CalibrationBins,
    brier_score,
    entropy,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
    negative_log_likelihood,
    score_sums,
)

from . import brute_force as bf


def random_probs(k, size=(5, 7), seed=0):
    g = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(k, *size, generator=g)).softmax(0)


@settings(max_examples=40, deadline=None)
@given(seed=bf.seeds, a=st.integers(1, 3), bins=st.integers(1, 15))
def test_bins_equal_a_loop_over_pixels(seed, a, bins):
    probs = random_probs(3, seed=seed % 2**31)
    labels = bf.maps(a, 3, ignore=255, seed=seed)
    calibration = CalibrationBins(bins)
    calibration.update(probs, labels)
    rows = np.zeros((3, bins))
    edges = torch.linspace(0, 1, bins + 1)
    for i, j in np.ndindex(*probs.shape[1:]):
        confidence, decision = probs[:, i, j].max(0)
        b = next(
            (b for b in range(bins) if confidence < edges[b + 1]), bins - 1
        )
        for y in labels[:, i, j].tolist():
            if y != 255:
                rows[:, b] += 1, confidence.item(), y == decision.item()
    np.testing.assert_allclose(calibration.sums, rows)
    full = rows[0] > 0
    gaps = np.abs(rows[1] - rows[2])[full] / rows[0][full]
    want = (gaps * rows[0][full]).sum() / rows[0].sum()
    np.testing.assert_allclose(calibration.ece, want)
    np.testing.assert_allclose(calibration.mce, gaps.max())


@pytest.mark.parametrize('bins', [5, 10, 15])
def test_errors_agree_with_torchmetrics(bins):
    probs = random_probs(4, (40, 40))
    label = bf.maps(1, 4, (40, 40), ignore=255)[0]
    calibration = CalibrationBins(bins)
    calibration.update(probs[:, :17], label[:17])
    calibration.update(probs[:, 17:], label[17:])
    for norm, mine in (('l1', calibration.ece), ('max', calibration.mce)):
        theirs = multiclass_calibration_error(
            probs[None],
            label[None].long(),
            num_classes=4,
            n_bins=bins,
            norm=norm,
            ignore_index=255,
        )
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_merging_and_batches_equal_one_pass():
    probs = torch.stack([random_probs(3, seed=i) for i in range(4)])
    labels = torch.stack([bf.maps(2, 3, ignore=255, seed=i) for i in range(4)])
    whole, parts = CalibrationBins(), CalibrationBins()
    whole.update(probs, labels)
    for half in (slice(0, 1), slice(1, 4)):
        part = CalibrationBins()
        part.update(probs[half], labels[half])
        parts.sums += part.sums
    torch.testing.assert_close(whole.sums, parts.sums)
    assert whole.count.sum() == (labels != 255).sum()


def test_certain_predictions_belong_to_the_last_bin():
    label = torch.tensor([[0, 1], [1, 1]])
    probs = torch.nn.functional.one_hot(label, 2).permute(2, 0, 1).float()
    bins = CalibrationBins()
    bins.update(probs, 1 - label)
    assert bins.count.tolist() == [0] * 9 + [4]
    assert bins.ece == 1 and bins.mce == 1
    assert CalibrationBins().ece.isnan() and CalibrationBins().mce.isnan()


def test_proper_scores_equal_a_loop():
    probs = random_probs(3)
    labels = bf.maps(2, 3, ignore=255, seed=2)
    brier, nll = [], []
    for i, j in np.ndindex(*probs.shape[1:]):
        for y in labels[:, i, j].tolist():
            if y != 255:
                p = probs[:, i, j].tolist()
                nll.append(-math.log(p[y]))
                brier.append(sum((q - (k == y)) ** 2 for k, q in enumerate(p)))
    np.testing.assert_allclose(brier_score(probs, labels), np.mean(brier))
    got = negative_log_likelihood(probs, labels)
    np.testing.assert_allclose(got, np.mean(nll))


def test_flipping_labels_count_with_their_probability():
    """Weights equal the mean over many drawn labels."""
    flips = [(0, 2, 0.25), (1, 3, 0.5)]
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    probs = random_probs(4)
    modes, weights = bf.modes(label, flips)
    drawn = modes.repeat_interleave(
        torch.tensor(weights).mul(8).round().int(), dim=0
    )  # every mode as often as its probability, out of 8
    many, exact = CalibrationBins(), CalibrationBins()
    many.update(probs, drawn)
    labels, weights = flip_observations(label, flips)
    exact.update(probs, labels, weights)
    torch.testing.assert_close(many.sums, 8 * exact.sums)
    torch.testing.assert_close(
        torch.stack(score_sums(probs, drawn)),
        8 * torch.stack(score_sums(probs, labels, weights=weights)),
    )


def test_offsets():
    flips = [(0, 2, 0.25), (1, 3, 0.5), (4, 5, 0.5)]
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


def test_entropy():
    probs = torch.tensor([0.5, 1.0]).view(2, 1, 1)
    probs = torch.cat([probs, 1 - probs], 1).permute(1, 0, 2)  # (2, 2, 1)
    np.testing.assert_allclose(
        entropy(probs).flatten(), [math.log(2), 0], atol=1e-7
    )


@pytest.mark.parametrize(
    ('probs', 'labels', 'message'),
    [
        (torch.full((2, 3, 3), 4.0), torch.zeros(3, 3).int(), 'not logits'),
        (torch.zeros(2, 3, 3).int(), torch.zeros(3, 3).int(), 'floats'),
        (torch.rand(2, 3, 3), torch.zeros(3, 4).int(), 'one size'),
        (torch.rand(2, 3, 3), torch.zeros(3, 3), 'labels: .*integer'),
        (torch.rand(2, 3, 3), torch.full((3, 3), 2), r'labels: .*\[2\]'),
    ],
)
def test_bad_inputs(probs, labels, message):
    with pytest.raises(ValueError, match=message):
        CalibrationBins().update(probs, labels)
    with pytest.raises(ValueError, match='num_bins'):
        CalibrationBins(0)
