"""Calibration of probabilities and of class flips, as metrics."""

import math

import pytest
import torch
from mmengine.structures import PixelData

from mmcar.evaluation import CalibrationBins, calibration, flip_observations
from mmcar.evaluation.metrics.calibration import flip_states

from ..predicted import FLIPS, image, scored

TABLE = ((0, 3, 0.5), (1, 4, 0.25))
NAMES = ('a', 'b', 'a2', 'b2')


def test_states_and_coherence_by_hand():
    label = torch.tensor([[0, 0, 0, 0], [1, 1, 2, 255]])
    samples = torch.stack([label, label]).clamp_max(2)
    samples[1, 0, :3] = 3  # three of four pixels of class 0 are the twin's
    samples[1, 1, :2] = 2  # class 1 is missed altogether
    states, coherence = flip_states(samples, label, TABLE)
    assert states[0].tolist() == [0, 0]
    assert states[1, 0] == 1 and states[1, 1].isnan()
    assert coherence[0].tolist() == [1, 1]
    assert coherence[1, 0] == 0.75 and coherence[1, 1].isnan()


def score(samples, *labels):
    images = [
        dict(
            class_flips=TABLE,
            pred_samples=dict(data=samples),
            gt_sem_segs=dict(data=label[None]),
        )
        for label in labels
    ]
    names = ('a', 'b', 'c', 'a2', 'b2')
    return scored(images, dict(type='FlipMetric'), classes=names)


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
    for source, twin, p in TABLE:
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
    with pytest.raises(ValueError, match="'class_flips'"):
        scored([dict(img_path='x.png')], dict(type='FlipMetric'))


def test_calibration_of_probabilities_and_sample_mean():
    images = [image(i, annotators=1 + i % 3) for i in range(4)]
    got = scored(images, {'type': 'CalibrationMetric', 'num_bins': 5})
    bins, mean_bins = CalibrationBins(5), CalibrationBins(5)
    for x in images:
        labels = x.gt_sem_segs.data
        bins.update(x.seg_logits.data.exp(), labels)
        mean_bins.update(x.sample_probs.data, labels)
    for mark, own in (('', bins), ('_samples', mean_bins)):
        for name, value in own.figures().items():
            assert got[name + mark] == pytest.approx(value.item())
    assert not any(key.startswith('offset') for key in got)


def test_a_sample_mean_of_other_classes_is_refused():
    (one,) = [image(0, annotators=1)]
    probs = one.sample_probs.data
    one.sample_probs.data = torch.cat([probs, torch.zeros_like(probs[:1])])
    with pytest.raises(ValueError, match=r'sample_probs.*\(3, 5, 7\)'):
        scored([one], {'type': 'CalibrationMetric'})


def test_calibration_of_flips_and_offsets():
    images = [image(i, 4, 1, flips=FLIPS) for i in range(3)]
    black_box = torch.zeros(2, 5, 7)
    black_box[0] = 1  # always decides for class 0
    images[0].set_data({'black_box_probs': PixelData(data=black_box)})
    got = scored(images, {'type': 'CalibrationMetric'}, classes=NAMES)
    bins, of_f, of_g = CalibrationBins(), [], []
    for i, x in enumerate(images):
        label, probs = x.gt_sem_segs.data[0], x.seg_logits.data.exp()
        bins.update(probs, *flip_observations(label, FLIPS))
        where = label == 1
        of_g.append(x.sample_probs.data[3][where])
        if i > 0:  # the black box of image 0 never agrees on class 1
            of_f.append(probs[3][where])
    assert got['ECE'] == pytest.approx(bins.ece.item())
    for name, said in (('offset', of_f), ('offset_samples', of_g)):
        want = abs(0.5 - torch.cat(said).mean().item())
        assert got[f'{name}/b2'] == pytest.approx(want, abs=1e-6)
    mean = (got['offset/a2'] + got['offset/b2']) / 2
    assert got['offset/mean'] == pytest.approx(mean)


@pytest.mark.parametrize('weights', [None, (3.0, 1.0, 0.0, 0.0, 0.0, 2.0)])
def test_sample_mean_from_maps_if_probabilities_are_missing(weights):
    sample = image(0)
    maps = sample.pred_samples.data
    del sample.sample_probs
    if weights:
        sample.set_data(dict(sample_weights=torch.tensor(weights)))
        maps = maps.repeat_interleave(torch.tensor(weights).int(), 0)
    got = scored([sample], {'type': 'CalibrationMetric'})
    frequency = torch.stack([(maps == c).double().mean(0) for c in (0, 1)])
    want = calibration(frequency, sample.gt_sem_segs.data).brier.item()
    assert got['Brier_samples'] == pytest.approx(want, abs=1e-6)


def test_images_with_different_tables_are_refused():
    images = [image(i, 4, 1, flips=FLIPS[i:]) for i in range(2)]
    with pytest.raises(ValueError, match='different tables'):
        scored(images, {'type': 'CalibrationMetric'}, classes=NAMES)
