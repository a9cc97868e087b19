import math

import pytest

from mmcar.utils.errors import UserError

from ..predicted import FLIPS, evaluator, image

METRICS = [
    {'type': 'GEDMetric', 'num_samples': 6},
    {'type': 'HMIoUMetric', 'num_samples': 6},
    {'type': 'CalibrationMetric'},
    {'type': 'FlipMetric'},
    {'type': 'FiniteIoUMetric'},
]


@pytest.mark.parametrize('metric', METRICS, ids=lambda m: m['type'])
@pytest.mark.parametrize('field', ['seg_logits', 'sample_probs'])
@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_a_prediction_that_is_not_finite_has_no_score(metric, field, value):
    flips = FLIPS if metric['type'] == 'FlipMetric' else None
    bad = image(1, 4, 1, flips=flips)
    bad.get(field).data[2, 3, 4] = value
    run = evaluator(metric, classes=('a', 'b', 'a2', 'b2'))
    with pytest.raises(UserError, match=rf"images/1\.png: '{field}'.*NaN"):
        run.process([bad])


def test_a_pixel_without_any_class_is_refused():
    bad = image(0)
    bad.seg_logits.data[:, 2, 3] = -math.inf
    with pytest.raises(UserError, match=r"0\.png: 'seg_logits'"):
        evaluator(METRICS[0]).process([bad])


def test_the_logarithm_of_zero_is_no_mistake():
    sure = image(0)
    sure.seg_logits.data[0] = -math.inf
    sure.seg_logits.data[1] = 0
    run = evaluator(METRICS[0], METRICS[2])
    run.process([sure])
    assert math.isfinite(run.evaluate(1)['Brier'])


def test_data_samples_are_left_as_they_were():
    data = image(0).to_dict()
    keys = set(data)
    for metric in evaluator(*METRICS[:3]).metrics:
        metric.process({}, [data])
    assert set(data) == keys


@pytest.mark.parametrize('metric', [METRICS[0], *METRICS[2:4]])
def test_class_flips_with_two_annotators_are_refused(metric):
    run = evaluator(metric, classes=('a', 'b', 'a2', 'b2'))
    with pytest.raises(UserError, match=r'0\.png: class flips need one'):
        run.process([image(0, 4, 2, flips=FLIPS)])
