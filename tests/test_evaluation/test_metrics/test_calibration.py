import numpy as np
import pytest
import torch
from mmengine.structures import PixelData

from mmcar.evaluation import (
    CalibrationBins,
    calibration,
    flip_observations,
)

from ..predicted import FLIPS, evaluator, image


def test_calibration_of_probabilities_and_sample_mean():
    images = [image(i, annotators=1 + i % 3) for i in range(4)]
    run = evaluator({'type': 'CalibrationMetric', 'num_bins': 5})
    run.process(images)
    got = run.evaluate(4)
    bins, mean_bins = CalibrationBins(5), CalibrationBins(5)
    for x in images:
        labels = x.gt_sem_segs.data
        probs = x.seg_logits.data.exp()
        bins.update(probs, labels)
        mean_bins.update(x.sample_probs.data, labels)
    assert got['ECE'] == pytest.approx(bins.ece.item())
    assert got['MCE'] == pytest.approx(bins.mce.item())
    assert got['ECE_samples'] == pytest.approx(mean_bins.ece.item())
    assert got['NLL'] == pytest.approx(bins.nll.item())
    assert not any(key.startswith('offset') for key in got)


def test_a_sample_mean_of_other_classes_is_refused():
    (one,) = [image(0, annotators=1)]
    probs = one.sample_probs.data
    one.sample_probs.data = torch.cat([probs, torch.zeros_like(probs[:1])])
    run = evaluator({'type': 'CalibrationMetric'})
    with pytest.raises(ValueError, match=r'sample_probs.*\(3, 5, 7\)'):
        run.process([one])


def test_calibration_of_flips_and_offsets():
    images = [image(i, 4, 1, flips=FLIPS) for i in range(3)]
    black_box = torch.zeros(2, 5, 7)
    black_box[0] = 1  # always decides for class 0
    images[0].set_data({'black_box_probs': PixelData(data=black_box)})
    run = evaluator(
        {'type': 'CalibrationMetric'}, classes=('a', 'b', 'a2', 'b2')
    )
    run.process(images)
    got = run.evaluate(3)
    bins, of_f, of_g = CalibrationBins(), [], []
    for i, x in enumerate(images):
        label, probs = x.gt_sem_segs.data[0], x.seg_logits.data.exp()
        bins.update(probs, *flip_observations(label, FLIPS))
        where = label == 1
        of_g.append(x.sample_probs.data[3][where])
        if i > 0:  # the black box of image 0 never agrees on class 1
            of_f.append(probs[3][where])
    assert got['ECE'] == pytest.approx(bins.ece.item())
    want = abs(0.5 - torch.cat(of_f).mean().item())
    assert got['offset/b2'] == pytest.approx(want, abs=1e-6)
    want = abs(0.5 - torch.cat(of_g).mean().item())
    assert got['offset_samples/b2'] == pytest.approx(want, abs=1e-6)
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
    run = evaluator({'type': 'CalibrationMetric'})
    run.process([sample])
    frequency = torch.stack([(maps == c).double().mean(0) for c in (0, 1)])
    want = calibration(frequency, sample.gt_sem_segs.data).brier.item()
    assert run.evaluate(1)['Brier_samples'] == pytest.approx(want, abs=1e-6)


def test_nothing_labelled_at_all():
    nobody = image(1)
    nobody.gt_sem_segs.data[:] = 255
    run = evaluator({'type': 'CalibrationMetric'})
    run.process([nobody])
    got = run.evaluate(1)
    assert np.isnan([got['ECE'], got['MCE'], got['Brier'], got['NLL']]).all()


def test_images_with_different_tables_are_refused():
    run = evaluator(
        {'type': 'CalibrationMetric'}, classes=('a', 'b', 'a2', 'b2')
    )
    run.process([image(i, 4, 1, flips=FLIPS[i:]) for i in range(2)])
    with pytest.raises(ValueError, match='different tables'):
        run.evaluate(2)
