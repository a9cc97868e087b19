"""Promises against counting by hand, and coverage on simulated data."""

import math

import numpy as np
import pytest
import torch

from mmcar.evaluation.functional import hypotheses, promises
from mmcar.evaluation.functional.promises import Steps, promised_level
from mmcar.utils.errors import UserError


def image(seed, height=9, width=7, annotators=3):
    """Probabilities and labels with unlabelled pixels, one empty map."""
    random = torch.Generator().manual_seed(seed)
    probs = torch.rand(height, width, generator=random)
    noise = torch.rand(annotators, height, width, generator=random)
    labels = (noise < probs).long()
    labels[:, 0, :2] = 255
    labels[0, 1] = 255
    labels[-1] = 0
    return probs, labels


def missed_share(region, labels):
    shares = []
    for label in labels:
        mark = [
            bool(region[place])
            for place in zip(*np.where(label == 1), strict=True)
        ]
        shares.append(mark.count(False) / len(mark) if mark else 0.0)
    return sum(shares) / len(shares)


def test_region_loss_is_the_missed_share_at_every_level():
    probs, labels = image(0)
    steps = promises.region_steps(probs, labels)
    for level in steps.levels.tolist():
        expected = missed_share(probs >= 1 - level, labels)
        assert steps.loss(level) == pytest.approx(expected, abs=1e-12)
    half = missed_share(probs >= 0.5, labels)
    assert steps.loss(0.5) == pytest.approx(half, abs=1e-2)
    assert steps.loss(1.0) == 0


def test_region_of_those_who_marked_leaves_the_others_out():
    probs, labels = image(1)
    marked = promises.region_steps(probs, labels, marked_only=True)
    everyone = promises.region_steps(probs, labels)
    assert marked.loss(0.3) == pytest.approx(everyone.loss(0.3) * 3 / 2)
    assert not len(promises.region_steps(probs, labels * 0).levels)


def test_inner_region_loss_is_the_worst_unmarked_share_above():
    probs, labels = image(2)
    steps = promises.inner_region_steps(probs, labels)
    for level in steps.levels.tolist()[::8]:
        worst = torch.zeros(len(labels))
        for threshold in [level, *probs[probs > level].tolist()]:
            region = promises.promised_inner_region(probs, threshold)
            for a, label in enumerate(labels):
                inside = label[region & (label != 255)]
                if len(inside):
                    share = (inside != 1).double().mean()
                    worst[a] = max(worst[a], share)
        expected = float(worst.mean())
        assert steps.loss(level) == pytest.approx(expected, abs=1e-6)


def test_rank_is_that_of_the_first_hypothesis_that_matches():
    ious = torch.tensor([[0.2, 0.9, 0.1], [0.7, 0.95, 0.1]])
    steps = promises.rank_steps(ious, 0.7)
    assert [steps.loss(k) for k in (0, 1, 2, 99)] == pytest.approx(
        [1, 2 / 3, 1 / 3, 1 / 3]
    )
    best = promises.best_iou_steps(ious)
    assert best.loss(0.31) == pytest.approx(1 / 3)


def test_area_interval_and_distance_to_it():
    samples = torch.zeros(5, 2, 4, dtype=torch.uint8)
    for number, sample in enumerate(samples):
        sample.view(-1)[: number + 1] = 1
    assert promises.area_interval(samples, 0.5) == (2, 4)
    steps = promises.area_steps(2, 4, torch.tensor([1.0, 3.0, 7.0, 4.0]))
    assert [steps.loss(w) for w in (-1, 0, 1, 3)] == [0.75, 0.5, 0.25, 0]
    # Nothing is smaller than nothing, however narrow the interval.
    assert promises.area_steps(0, 4, torch.zeros(1)).loss(-1) == 0


@pytest.mark.parametrize(
    'n, alpha, repetitions', [(24, 0.1, 1700), (9, 0.2, 600)]
)
def test_coverage_is_the_promised_one(n, alpha, repetitions):
    """An off-by-one in the quantile would shift it by 1 / (n + 1)."""
    random = torch.Generator().manual_seed(n)
    covered = 0
    for _ in range(repetitions):
        *scores, new = torch.randn(n + 1, generator=random).double()
        one = torch.ones(1).double()
        steps = [Steps(score[None], one) for score in scores]
        covered += bool(new <= promised_level(steps, alpha))
    exact = math.ceil((n + 1) * (1 - alpha) - 1e-9) / (n + 1)
    error = (exact * (1 - exact) / repetitions) ** 0.5
    assert abs(covered / repetitions - exact) < 3 * error
    assert 3 * error < 0.5 / (n + 1)


def test_level_is_the_smallest_that_keeps_the_risk():
    """Several steps per image, several images per unit."""
    images = [promises.region_steps(*image(seed)) for seed in range(12)]
    units = [seed // 2 for seed in range(12)]
    level = promised_level(images, 0.3, units)

    def bound(at):
        pairs = zip(images[::2], images[1::2], strict=True)
        means = [(a.loss(at) + b.loss(at)) / 2 for a, b in pairs]
        return (sum(means) + 1) / (len(means) + 1)

    levels = torch.cat([s.levels for s in images]).unique().tolist()
    assert bound(level) <= 0.3
    assert level == min(x for x in levels if bound(x) <= 0.3)
    held = promises.what_held(images, level, units)
    assert held.units == 6
    assert held.loss == pytest.approx((bound(level) * 7 - 1) / 6)


def test_too_few_images_promise_nothing():
    step = Steps(torch.ones(1).double(), torch.ones(1).double())
    with pytest.raises(UserError, match='9'):
        promised_level([step] * 8, 0.1)
    assert promised_level([step] * 9, 0.1) == 1
    never = Steps(torch.tensor([math.inf]).double(), torch.ones(1).double())
    assert promised_level([never] * 20, 0.1) == math.inf
    with pytest.raises(UserError, match='alpha'):
        promises.images_needed(1.5)


def predicted(seed):
    """Probabilities, samples, their hypotheses and labels of an image."""
    probs, labels = image(seed)
    random = torch.Generator().manual_seed(seed + 1000)
    noise = torch.rand(6, *probs.shape, generator=random)
    samples = (noise < probs).long()
    groups = hypotheses(samples, samples[0], num_classes=2, threshold=0.6)
    return torch.stack([1 - probs, probs]), samples, groups, labels


def test_what_is_promised_is_what_the_steps_count():
    """The pictures given to users against the losses that were fitted."""
    for seed in range(4):
        probs, samples, groups, labels = predicted(seed)
        steps = promises.promise_steps(
            probs, samples, groups, labels, 1, alpha=0.4, iou=0.3
        )
        # What is promised is one of the levels.
        for level in (0.37, 1.0, *steps['region'].levels.tolist()[::9]):
            region = promises.promised_region(probs[1], level)
            expected = missed_share(region, labels)
            assert steps['region'].loss(level) == pytest.approx(expected)
        ends = promises.area_interval(samples, 0.4)
        for level in (0.0, 1.0, 7.5):
            low, high = promises.promised_area(*ends, level)
            areas = (labels == 1).flatten(1).sum(1)
            outside = ((areas < low) | (areas > high)).double().mean()
            assert steps['area'].loss(level) == pytest.approx(float(outside))
        for k in range(len(groups) + 1):
            found = [
                any(
                    foreground_iou(samples[h.representative], label) >= 0.3
                    for h in groups[:k]
                )
                for label in labels
            ]
            missed = found.count(False) / len(found)
            assert steps['samples'].loss(k) == pytest.approx(missed)


def foreground_iou(sample, label):
    pairs = [*zip(sample.flatten(), label.flatten(), strict=True)]
    both = sum(bool(s == 1 and y == 1) for s, y in pairs)
    union = sum(bool(y != 255 and (s == 1 or y == 1)) for s, y in pairs)
    return both / union if union else 1.0


def test_levels_of_all_promises_keep_them_on_average():
    """Fitted on 30 images, the promise holds on another, on average."""
    every = []
    for seed in range(100):
        probs, samples, groups, labels = predicted(seed)
        labels[0, :] = 255  # who labels nothing does not count
        predictions = probs, samples, groups, labels
        every.append(promises.promise_steps(*predictions, 1, 0.2, 0.1))
    random = torch.Generator().manual_seed(0)
    losses = {}
    for _ in range(100):
        *fit, new = torch.randperm(100, generator=random)[:31].tolist()
        levels = promises.fit_levels([every[i] for i in fit], 0.2)
        for name, level in levels.items():
            losses.setdefault(name, []).append(every[new][name].loss(level))
    assert {'region', 'inner_region', 'area'} < losses.keys()
    for name, found in losses.items():
        error = torch.tensor(found).std() / len(found) ** 0.5
        assert sum(found) / len(found) < 0.2 + 3 * error, name


def test_where_no_number_will_do_the_best_iou_is_promised():
    ious = torch.full((3, 2), 0.4)
    none = Steps(torch.zeros(0).double(), torch.zeros(0).double())
    image_steps = dict(
        dict.fromkeys(('region', 'inner_region', 'area'), none),
        samples=promises.rank_steps(ious, 0.5),
        best_iou=promises.best_iou_steps(ious),
    )
    levels = promises.fit_levels([image_steps] * 12, 0.1)
    assert levels['best_iou'] == pytest.approx(0.6)
    assert 'samples' not in levels
    assert levels['region'] == 0


def test_nobody_labelled_a_pixel():
    probs, samples, groups, labels = predicted(0)
    nothing = torch.full_like(labels, 255)
    predictions = probs, samples, groups, nothing
    assert not promises.promise_steps(*predictions, 1, 0.1, 0.5)
    assert math.isnan(promises.area_crps(samples, nothing))
