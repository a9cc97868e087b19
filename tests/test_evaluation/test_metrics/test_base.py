"""Fields of predictions, classes that are asked for, means over images."""

import math

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import METRICS
from mmseg.structures import SegDataSample

from mmcar.evaluation import (
    GEDMetric,
    HMIoUMetric,
    best_match_iou,
    ged,
    hm_iou,
)
from mmcar.utils.errors import UserError
from tests.test_docs import code_blocks

from ..predicted import FLIPS, evaluator, image, scored
from ..ranks import on_two_ranks

CONFIGS = [
    {'type': 'GEDMetric', 'num_samples': 6},
    {'type': 'HMIoUMetric', 'num_samples': 6},
    {'type': 'CalibrationMetric'},
    {'type': 'FlipMetric'},
    {'type': 'FiniteIoUMetric'},
]
REPEATS = torch.tensor([3, 1, 0, 2])


@pytest.mark.parametrize('metric', CONFIGS, ids=lambda m: m['type'])
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
    assert math.isfinite(scored([sure], CONFIGS[0], CONFIGS[2])['Brier'])
    sure.seg_logits.data[1, 2, 3] = -math.inf
    with pytest.raises(UserError, match=r"0\.png: 'seg_logits'"):
        scored([sure], CONFIGS[0], CONFIGS[2])


@pytest.mark.parametrize('metric', [CONFIGS[0], *CONFIGS[2:4]])
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
        *(({'type': 'GEDMetric'}, None), ({'type': 'HMIoUMetric'}, None)),
        ({'type': 'FloodMetric', 'largest': [1.0, 0.35, 0.5, 1.0]}, None),
        *(({'type': 'GEDMetric'}, FLIPS), ({'type': 'FlipMetric'}, FLIPS)),
    ],
)
def test_weights_are_repetitions(metric, flips):
    """Metrics count a sample by the share of draws for which it stands."""
    scores = []
    for one, number in zip(weighted_and_repeated(flips), (4, 6), strict=True):
        if metric['type'] != 'FlipMetric':
            metric = metric | dict(num_samples=number)
        found = scored([one], metric, classes=tuple('abcd'))
        scores.append(
            {k.replace(f'_{number}', ''): v for k, v in found.items()}
        )
    assert scores[0] == pytest.approx(scores[1], nan_ok=True)


NAMES = ('background', 'nodule', 'vessel')


def compared(names=NAMES, metric=GEDMetric, **options):
    built = metric(**options)
    built.dataset_meta = {'classes': names} if names else None
    return built.how


@pytest.mark.parametrize(
    ('names', 'options', 'ids', 'rule'),
    [
        (NAMES, {}, [0, 1, 2], 'skip'),
        (NAMES[:2], {}, [1], 'one'),
        (NAMES[:2], dict(classes=(0,)), [0], 'one'),
        (NAMES, dict(classes=[2, 1]), [2, 1], 'skip'),
        (NAMES, dict(classes=(0, 1, 2), absent='one'), [0, 1, 2], 'one'),
        (NAMES, dict(classes=['vessel']), [2], 'skip'),
    ],
)
def test_what_is_compared(names, options, ids, rule):
    how = compared(names, **options)
    assert (how.ids, how.rule) == (ids, rule)


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        # By its id, one of three may be inherited from two.
        (dict(classes=(1,), absent='one'), r"vessel.*classes=\['nodule'\]"),
        (dict(classes=(1,), metric=HMIoUMetric), 'vessel'),
        (dict(classes=['vessel', 0]), 'nodule'),
        (dict(classes=['vesel']), r"'vesel'.*vessel"),
        (dict(classes=['vessel'], names=None, num_classes=3), 'use ids'),
        (dict(classes=(3,)), r'classes: .*0\.\.2'),
        (dict(classes=(1, 1)), r'classes: .*0\.\.2'),
        (dict(classes=()), r'classes: .*0\.\.2'),
        (dict(num_classes=2), 'num_classes=2'),
        (dict(names=None), 'num_classes'),
    ],
)
def test_classes_that_cannot_be_compared(options, words):
    with pytest.raises(UserError, match=words):
        compared(**options)


BOTH = [
    {'type': 'GEDMetric', 'num_samples': (2, 6)},
    {'type': 'HMIoUMetric', 'num_samples': (2, 6)},
]


def test_scores_of_prefixes_equal_the_functions():
    images = [image(i, annotators=1 + i % 3) for i in range(5)]
    run = evaluator(*BOTH)
    for chunk in (images[:2], images[2:]):
        run.process(chunk)
    got = run.evaluate(len(images))
    for n in (2, 6):
        pairs = [(x.pred_samples.data[:n], x.gt_sem_segs.data) for x in images]
        geds = [ged(*p, num_classes=2) for p in pairs]
        hm = [hm_iou(*p, num_classes=2) for p in pairs]
        best = [best_match_iou(*p, num_classes=2).mean() for p in pairs]
        assert got[f'GED_{n}'] == pytest.approx(np.mean(geds))
        assert got[f'HM-IoU_{n}'] == pytest.approx(np.mean(hm))
        assert got[f'D_max_{n}'] == pytest.approx(np.mean(best))
        assert got[f'GED_{n}_left_out'] == 0


@pytest.mark.parametrize(
    ('metric', 'score', 'nobody_left_out', 'labels_left_out'),
    [
        (BOTH[0], 'GED_2', 'GED_2_left_out', 'GED_labels_left_out'),
        (BOTH[1], 'D_max_6', 'D_max_6_left_out', 'HM-IoU_labels_left_out'),
        (
            *(CONFIGS[2], 'Brier_samples', 'calibration_left_out'),
            'calibration_labels_left_out',
        ),
    ],
)
def test_who_labelled_nothing_is_counted_and_changes_no_score(
    metric, score, nobody_left_out, labels_left_out
):
    plain, more, nobody = image(0), image(0, annotators=5), image(1)
    more.gt_sem_segs.data[:3] = plain.gt_sem_segs.data
    more.gt_sem_segs.data[3:] = 255
    nobody.gt_sem_segs.data[:] = 255
    cases = [plain], [more], [more, nobody]
    found = [scored(images, metric) for images in cases]
    assert len({x[score] for x in found}) == 1
    assert [x[nobody_left_out] for x in found] == [0, 0, 1]
    assert [x[labels_left_out] for x in found] == [0, 2, 5]


def test_the_metric_of_the_docs():
    blocks = code_blocks('docs/lookup/metrics.md')
    source, config = (b for b in blocks if 'AreaError' in b)
    scope = {}
    exec(source, {'__name__': 'my_project'})
    exec(config, scope)
    images, nobody = [image(i, samples=16) for i in range(3)], image(3)
    nobody.gt_sem_segs.data[:] = 255
    try:
        run = evaluator(*scope['test_evaluator'])
    finally:
        METRICS.module_dict.pop('AreaError')
    run.process(images)
    run.metrics[1].process({}, [nobody.to_dict()])
    got = run.metrics[1].evaluate(4)
    areas = [
        ((x.pred_samples.data == 1).sum(), (x.gt_sem_segs.data == 1).sum())
        for x in images
    ]
    want = [abs(drawn / 16 - marked / 3) for drawn, marked in areas]
    assert got['area_error'] == pytest.approx(np.mean(want))
    assert got['area_error_left_out'] == 1
    assert got['AreaError_labels_left_out'] == 3


def test_one_label_only_in_gt_sem_seg():
    sample = image(0, annotators=1)
    data = {'gt_sem_seg': PixelData(data=sample.gt_sem_segs.data.long())}
    other = SegDataSample(metainfo=sample.metainfo)
    other.set_data(data | {'pred_samples': sample.pred_samples})
    assert scored([sample], BOTH[0]) == scored([other], BOTH[0])


def of_a_rank(rank):
    run = evaluator(*BOTH, CONFIGS[2])
    order = [0, 1, 2, 3, 4, 0]  # the sampler repeats the first to fill up
    mine = [image(i, annotators=1 + i % 3) for i in order[rank::2]]
    run.process(mine[:2])
    run.process(mine[2:])
    return run.evaluate(5)


def test_two_processes_score_exactly_as_one(tmp_path):
    images = [image(i, annotators=1 + i % 3) for i in range(5)]
    alone = scored(images, *BOTH, CONFIGS[2])
    for found in on_two_ranks(of_a_rank, tmp_path):
        assert found == pytest.approx(alone, rel=1e-12)


def test_bad_use():
    with pytest.raises(ValueError, match='num_samples'):
        GEDMetric(num_samples=0)
    run = evaluator({'type': 'GEDMetric', 'num_samples': 7})
    with pytest.raises(ValueError, match=r'num_samples=7.*drew 6'):
        run.process([image(0)])
    sample = image(0)
    del sample.pred_samples
    with pytest.raises(ValueError, match=r"0\.png.*'pred_samples'"):
        run.process([sample])
