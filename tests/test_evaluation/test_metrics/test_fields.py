import math

import pytest
import torch

from mmcar.utils.errors import UserError

from ..predicted import FLIPS, evaluator, image

METRICS = [
    {'type': 'GEDMetric', 'num_samples': 6},
    {'type': 'HMIoUMetric', 'num_samples': 6},
    {'type': 'CalibrationMetric'},
    {'type': 'FlipMetric'},
    {'type': 'FiniteIoUMetric'},
]
REPEATS = torch.tensor([3, 1, 0, 2])


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


def test_the_logarithm_of_zero_is_no_mistake_unless_no_class_is_left():
    sure = image(0)
    sure.seg_logits.data[0] = -math.inf
    sure.seg_logits.data[1] = 0
    run = evaluator(METRICS[0], METRICS[2])
    run.process([sure])
    assert math.isfinite(run.evaluate(1)['Brier'])
    sure.seg_logits.data[1, 2, 3] = -math.inf
    with pytest.raises(UserError, match=r"0\.png: 'seg_logits'"):
        run.process([sure])


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


def weighted_and_repeated(flips=None):
    """The same image with weights, and with repeated samples instead."""
    both = []
    for weighted in (True, False):
        one = image(0, k=4, samples=4, annotators=1, flips=flips)
        if weighted:
            one.set_data(dict(sample_weights=REPEATS / REPEATS.sum()))
        else:
            maps = one.pred_samples.data
            one.pred_samples.data = maps.repeat_interleave(REPEATS, 0)
        both.append(one.to_dict())
    return both


@pytest.mark.parametrize(
    ('metric', 'flips'),
    [
        ({'type': 'GEDMetric'}, None),
        ({'type': 'HMIoUMetric'}, None),
        ({'type': 'FloodMetric', 'largest': [1.0, 0.35, 0.5, 1.0]}, None),
        ({'type': 'GEDMetric'}, FLIPS),
        ({'type': 'FlipMetric'}, FLIPS),
    ],
)
def test_weights_are_repetitions(metric, flips):
    """Metrics count a sample by the share of draws for which it stands."""
    scores = []
    for one, number in zip(weighted_and_repeated(flips), (4, 6), strict=True):
        count = (
            {} if metric['type'] == 'FlipMetric' else dict(num_samples=number)
        )
        tool = evaluator(metric | count, classes=tuple('abcd'))
        tool.process([one])
        found = tool.evaluate(1)
        scores.append(
            {k.replace(f'_{number}', ''): v for k, v in found.items()}
        )
    assert scores[0] == pytest.approx(scores[1], nan_ok=True)
