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
    class_area_sums,
    entropy,
    negative_log_likelihood,
)

from .. import brute_force as bf


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


def test_unlabelled_labels_are_no_observations():
    probs, label = random_probs(3), bf.maps(1, 3)
    nothing = torch.full_like(label, 255)
    both = torch.cat([label, nothing])
    for score in (brier_score, negative_log_likelihood):
        assert score(probs, both) == score(probs, label)
        assert score(probs, nothing).isnan()
    bins = CalibrationBins()
    bins.update(probs, nothing)
    assert bins.count.sum() == 0 and bins.ece.isnan()


@pytest.mark.parametrize('score', [brier_score, negative_log_likelihood])
def test_proper_scores_per_image(score):
    probs = torch.stack([random_probs(3, seed=i) for i in range(3)])
    labels = torch.stack([bf.maps(2, 3, ignore=255, seed=i) for i in range(3)])
    each = [score(p, y) for p, y in zip(probs, labels, strict=True)]
    assert torch.equal(score(probs, labels), torch.stack(each))
    with pytest.raises(ValueError, match=r'image dimension.*\(2, 2, 5, 7\)'):
        score(probs, labels[:2])
    with pytest.raises(ValueError, match='image dimension'):
        CalibrationBins().update(probs, labels, torch.ones(2, 2, 5, 7))


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
        (torch.full((2, 3, 3), math.nan), torch.zeros(3, 3).int(), 'NaN'),
        (torch.full((2, 3, 3), math.inf), torch.zeros(3, 3).int(), 'inf'),
        (torch.zeros(2, 3, 3).int(), torch.zeros(3, 3).int(), 'floats'),
        (torch.zeros(0, 3, 3), torch.zeros(3, 3).int(), 'non-empty'),
        (torch.rand(2, 3, 3), np.zeros((3, 3), int), 'labels: .*ndarray'),
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


def loop_over_areas(probs, labels, weights, ignore_index):
    expected = [0.0] * len(probs)
    labelled = [0.0] * len(probs)
    for a, label in enumerate(labels):
        for i in range(label.shape[0]):
            for j in range(label.shape[1]):
                if label[i, j] == ignore_index:
                    continue
                weight = float(weights[a, i, j])
                labelled[int(label[i, j])] += weight
                for k in range(len(probs)):
                    expected[k] += weight * float(probs[k, i, j])
    return torch.tensor([expected, labelled], dtype=torch.float64)


@pytest.mark.parametrize('ignore_index', [255, 7])
@pytest.mark.parametrize('weighted', [False, True])
def test_areas_are_those_of_a_loop(ignore_index, weighted):
    g = torch.Generator().manual_seed(3)
    probs = torch.randn(3, 4, 6, generator=g).softmax(0)
    labels = torch.randint(3, (2, 4, 6), generator=g)
    labels[0, :2] = ignore_index
    weights = torch.rand(2, 4, 6, generator=g).double()
    found = class_area_sums(
        probs,
        labels,
        weights=weights if weighted else None,
        ignore_index=ignore_index,
    )
    ones = torch.ones_like(weights)
    expected = loop_over_areas(
        probs, labels, weights if weighted else ones, ignore_index
    )
    torch.testing.assert_close(found, expected)


def test_a_single_map_of_labels():
    probs = torch.tensor([0.25, 0.75]).view(2, 1, 1).expand(2, 2, 2)
    found = class_area_sums(probs, torch.tensor([[0, 1], [255, 1]]))
    assert found.tolist() == [[0.75, 2.25], [1, 2]]
