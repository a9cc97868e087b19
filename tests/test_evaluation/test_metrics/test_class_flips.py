import math

import pytest
import torch
from mmseg.registry import METRICS

from mmcar.evaluation.metrics.class_flips import flip_states

FLIPS = ((0, 3, 0.5), (1, 4, 0.25))


def test_states_and_coherence_by_hand():
    label = torch.tensor([[0, 0, 0, 0], [1, 1, 2, 255]])
    samples = torch.stack([label, label]).clamp_max(2)
    samples[1, 0, :3] = 3  # three of four pixels of class 0 are the twin's
    samples[1, 1, :2] = 2  # class 1 is missed altogether
    states, coherence = flip_states(samples, label, FLIPS)
    assert states[0].tolist() == [0, 0]
    assert states[1, 0] == 1 and states[1, 1].isnan()
    assert coherence[0].tolist() == [1, 1]
    assert coherence[1, 0] == 0.75 and coherence[1, 1].isnan()


def score(samples, *labels):
    metric = METRICS.build(dict(type='FlipMetric'))
    metric.dataset_meta = dict(classes=('a', 'b', 'c', 'a2', 'b2'))
    metric.process(
        {},
        [
            dict(
                class_flips=FLIPS,
                pred_samples=dict(data=samples),
                gt_sem_segs=dict(data=label[None]),
            )
            for label in labels
        ],
    )
    return metric.evaluate(len(labels))


def test_images_without_a_switchable_class_are_counted():
    label, void = torch.tensor([[0, 1]]), torch.tensor([[255, 255]])
    samples = torch.tensor([[[0, 1]], [[3, 1]]])
    both, one = score(samples, label, void), score(samples, label)
    assert both.pop('flip_left_out') == 1 and one.pop('flip_left_out') == 0
    assert both == one
    nothing = score(samples, void)
    assert math.isnan(nothing['flip_error']) and nothing['flip_left_out'] == 1


def test_independent_flips_by_the_table():
    random = torch.manual_seed(0)
    label = torch.tensor([[0, 0, 1, 1, 2]])
    samples = label.repeat(4000, 1, 1)
    for source, twin, p in FLIPS:
        flipped = torch.rand(4000, generator=random) < p
        samples[flipped] = samples[flipped].where(
            samples[flipped] != source, twin
        )
    scores = score(samples, label)
    assert scores['flip_frequency/a'] == pytest.approx(0.5, abs=0.03)
    assert scores['flip_frequency/b'] == pytest.approx(0.25, abs=0.03)
    assert scores['flip_error'] < 0.03
    assert scores['flip_coherence'] == 1
    assert scores['flip_correlation'] < 0.06


def test_flips_that_go_together_are_found():
    label = torch.tensor([[0, 1]])
    samples = torch.tensor([[[0, 1]], [[3, 4]]]).repeat(8, 1, 1)
    scores = score(samples, label)
    assert scores['flip_correlation'] == pytest.approx(1)
    assert scores['flip_error'] == pytest.approx(0.25)


def test_data_without_flips_is_refused():
    metric = METRICS.build(dict(type='FlipMetric'))
    with pytest.raises(ValueError, match="'class_flips'"):
        metric.process({}, [dict(img_path='x.png')])
