import math

import pytest
import torch
from mmengine.structures import PixelData

from mmcar.evaluation import bounds
from mmcar.evaluation.dataset_scores import DatasetScores

from .predicted import FLIPS, image
from .predicted import scored as by_metrics

TWO = dict(classes=('background', 'nodule'))
FOUR = dict(classes=('a', 'b', 'a2', 'b2'), class_flips=FLIPS)


def predicted(number=3, **options):
    samples = [image(i, **options) for i in range(number)]
    for sample in samples:
        decision = sample.seg_logits.data.argmax(0, keepdim=True)
        sample.pred_sem_seg = PixelData(data=decision)
    return samples


def scored(samples, metainfo, **options):
    dataset_scores = DatasetScores(metainfo, 6, **options)
    rows = [dataset_scores.add(sample.to_dict()) for sample in samples]
    return rows, dataset_scores.summary()


def test_scores_are_those_of_the_metrics():
    samples = predicted()
    rows, summary = scored(samples, TWO)
    metrics = [
        dict(type='GEDMetric', num_samples=6),
        dict(type='HMIoUMetric', num_samples=6),
        dict(type='CalibrationMetric'),
    ]
    expected = by_metrics(samples, *metrics)
    assert summary['scores'] == pytest.approx(expected)
    for name in ('GED', 'HM-IoU'):
        mean = sum(row[name] for row in rows) / len(rows)
        assert mean == pytest.approx(expected[f'{name}_6'])
    labels = [sample.gt_sem_segs.data for sample in samples]
    assert summary['bounds'] == bounds(labels, num_classes=2, num_samples=6)


def test_bins_of_images_add_up_to_those_of_all():
    rows, summary = scored(predicted(), TWO)
    for source, bins in summary['reliability'].items():
        sums = torch.tensor([row['bins'][source] for row in rows]).sum(0)
        torch.testing.assert_close(sums[0].tolist(), bins['count'])
        gap = (sums[1] - sums[2]).abs().sum() / sums[0].sum()
        assert gap.item() == pytest.approx(bins['ECE'])
    of_f, of_samples = (x['ECE'] for x in summary['reliability'].values())
    assert summary['scores']['ECE'] == pytest.approx(of_f)
    assert of_f != pytest.approx(of_samples)


def test_areas_of_classes_by_a_loop():
    samples = predicted()
    _, summary = scored(samples, TWO)
    expected = labelled = total = 0.0
    for sample in samples:
        probs = sample.seg_logits.data.exp()
        for label in sample.gt_sem_segs.data:
            seen = label != 255
            total += seen.sum().item()
            labelled += (label == 1).sum().item()
            expected += probs[1][seen].sum().item()
    row = summary['classes'][1]
    assert row['name'] == 'nodule'
    assert row['labelled'] == pytest.approx(labelled / total)
    assert row['probabilities'] == pytest.approx(expected / total)
    excess = expected / labelled - 1
    assert row['probabilities_excess'] == pytest.approx(excess)


def test_class_flips_have_their_own_figures():
    samples = predicted(k=4, annotators=1, flips=FLIPS)
    rows, summary = scored(samples, FOUR)
    assert 'HM-IoU' not in rows[0] and 'HM-IoU_6' not in summary['scores']
    said = seen = 0.0
    for sample in samples:
        where = sample.gt_sem_segs.data[0] == 1
        said += sample.sample_probs.data[3][where].double().sum().item()
        seen += where.sum().item()
    flip = summary['flips'][1]
    assert (flip['name'], flip['twin'], flip['true']) == ('b', 'b2', 0.5)
    assert flip['samples'] == pytest.approx(said / seen)
    offset = summary['scores']['offset_samples/b2']
    assert abs(flip['samples'] - 0.5) == pytest.approx(offset)
    # Half of what is labelled b counts as its twin.
    classes = {row['name']: row['labelled'] for row in summary['classes']}
    assert classes['b2'] == pytest.approx(classes['b'])
    assert classes['a2'] == pytest.approx(classes['a'] / 3)


def test_without_bounds_and_with_a_class_that_nobody_drew():
    samples = predicted(k=3)
    for sample in samples:
        labels = sample.gt_sem_segs.data
        labels[labels == 2] = 0
    _, summary = scored(samples, dict(classes='xyz'), bounds=False)
    assert summary['bounds'] == {}
    assert math.isnan(summary['classes'][2]['samples_excess'])
