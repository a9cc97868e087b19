"""GED, HM-IoU and flood rate as metrics."""

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import DATASETS, METRICS
from mmseg.structures import SegDataSample

from mmcar.evaluation import ged

from ..predicted import FLIPS, image, scored

GED = {'type': 'GEDMetric', 'num_samples': (2, 6)}


def test_flips_in_the_metainfo_make_it_the_flip_distance():
    images = [image(i, 4, 1, flips=FLIPS) for i in range(3)]
    void = image(7, 4, 1, flips=FLIPS)
    void.gt_sem_segs.data[:] = 255  # nothing to compare: left out
    got = scored([*images, void], GED, classes=('a', 'b', 'a2', 'b2'))
    how = dict(flips=FLIPS, num_classes=4)
    want = [
        ged(x.pred_samples.data[:2], x.gt_sem_segs.data, **how) for x in images
    ]
    left_out = sum(bool(torch.isnan(w)) for w in want)
    assert left_out < 3
    assert got['GED_2'] == pytest.approx(np.nanmean(want))
    assert got['GED_2_left_out'] == 1 + left_out


@pytest.mark.parametrize(
    ('config', 'words'),
    [
        (dict(type='GEDMetric', classes=('a', 'b')), "delete 'classes'"),
        (dict(type='GEDMetric', absent='one'), "delete 'classes'"),
        (dict(type='HMIoUMetric'), 'GEDMetric'),
        (dict(type='CRPSMetric'), 'GEDMetric'),
    ],
)
def test_what_class_flips_do_not_go_with(config, words):
    sample, config = image(0, 4, 1, flips=FLIPS), config | dict(num_samples=6)
    with pytest.raises(ValueError, match=words):
        scored([sample], config, classes=('a', 'b', 'a2', 'b2'))


@DATASETS.register_module()
class ThreeAnnotatedImages:
    """Labels whose class 1 covers 1, 2 and 3 of ten pixels."""

    def __init__(self, class_flips=None):
        self.metainfo = {'class_flips': class_flips}

    def __len__(self):
        return 3

    def __getitem__(self, i):
        labels = torch.zeros(2, 2, 5, dtype=torch.uint8)
        labels[1, 0, : i + 1] = 1
        sample = SegDataSample()
        sample.set_data({'gt_sem_segs': PixelData(data=labels)})
        return {'inputs': None, 'data_samples': sample}


def predicted(*pixels):
    """An image whose samples give class 1 so many of ten pixels."""
    sample = SegDataSample(metainfo={'img_path': 'images/0.png'})
    maps = torch.zeros(len(pixels), 10, dtype=torch.uint8)
    for label_map, number in zip(maps, pixels, strict=True):
        label_map[:number] = 1
    sample.pred_samples = PixelData(data=maps.view(-1, 2, 5))
    sample.gt_sem_segs = PixelData(data=maps[:1].view(-1, 2, 5))
    return sample


def rates(config, *images, **kwargs):
    return scored(images, {'type': 'FloodMetric', **config}, **kwargs)


@pytest.mark.parametrize(
    'measure',
    [
        {'train_dataset': {'type': 'ThreeAnnotatedImages'}},
        {'largest': (1.0, 0.3)},
    ],
)
def test_share_of_samples_larger_than_any_annotation(measure):
    images = predicted(0, 3, 4, 10), predicted(3, 3, 3, 3)
    scores = rates({'num_samples': (2, 4), **measure}, *images)
    assert scores['flood_rate_2'] == 0
    assert scores['flood_rate_4'] == 0.25
    assert scores['flood_rate_4_left_out'] == 0


def test_background_does_not_count_unless_asked_for():
    measure = {'largest': (0.9, 1.0), 'num_samples': 2}
    assert rates(measure, predicted(0, 5))['flood_rate_2'] == 0
    measure['classes'] = (0, 1)
    assert rates(measure, predicted(0, 5))['flood_rate_2'] == 0.5


def test_twins_of_the_training_set_count_as_their_class():
    dataset = {'type': 'ThreeAnnotatedImages', 'class_flips': FLIPS}
    metric = METRICS.build({'type': 'FloodMetric', 'train_dataset': dataset})
    metric.dataset_meta = {'classes': 'abcd'}
    assert metric.largest.tolist() == [1, 0.3, 1, 0.3]


CRPS = {'type': 'CRPSMetric', 'num_samples': (2, 6)}


def counted_crps(sample, n, classes, weights=None):
    weights = weights or [1 / n] * n
    maps = sample.pred_samples.data[:n].tolist()
    labels = sample.gt_sem_segs.data.tolist()
    places = [(i, j) for i in range(5) for j in range(7)]
    known = [p for p in places if any(y[p[0]][p[1]] != 255 for y in labels)]
    scores = []
    for k in classes:
        a, y = (
            [sum(one[i][j] == k for i, j in known) for one in every]
            for every in (maps, labels)
        )
        draws = [*zip(weights, a, strict=True)]
        error = sum(w * abs(p - q) / len(y) for w, p in draws for q in y)
        spread = sum(w * v * abs(p - q) for w, p in draws for v, q in draws)
        scores.append(error - spread / 2)
    return sum(scores) / len(scores)


@pytest.mark.parametrize('k, classes', [(2, (1,)), (3, (0, 1, 2))])
def test_crps_is_the_mean_over_images_and_classes(k, classes):
    images = [image(i, k) for i in range(3)]
    scores = scored(images, CRPS, classes=('a', 'b', 'c')[:k])
    for n in (2, 6):
        expected = sum(counted_crps(one, n, classes) for one in images) / 3
        assert scores[f'CRPS_{n}'] == pytest.approx(expected)


def test_crps_of_samples_that_stand_for_several():
    sample = image(0)
    sample.set_data(dict(sample_weights=torch.tensor([5, 3, 2, 0, 0, 0])))
    expected = counted_crps(sample, 6, (1,), [0.5, 0.3, 0.2, 0.0, 0.0, 0.0])
    got = scored([sample], CRPS | {'num_samples': 6})
    assert got['CRPS_6'] == pytest.approx(expected)
