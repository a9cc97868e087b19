import csv
import multiprocessing

import numpy as np
import pytest
import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import PixelData
from mmseg.registry import METRICS
from mmseg.structures import SegDataSample

from mmcar.evaluation import (
    CalibrationBins,
    GEDMetric,
    best_match_iou,
    flip_energy_distance,
    flip_observations,
    generalized_energy_distance,
    hungarian_matched_iou,
    negative_log_likelihood,
)
from mmcar.evaluation.functional import iou as iou_module

from . import brute_force as bf

FLIPS = ((0, 2, 0.25), (1, 3, 0.5))


def image(i, k=2, annotators=3, samples=6, flips=None):
    """A predicted image with random content."""
    g = torch.Generator().manual_seed(i)
    sample = SegDataSample(metainfo={'img_path': f'images/{i}.png'})
    fields = {
        'pred_samples': bf.maps(samples, k, seed=i),
        'gt_sem_segs': bf.maps(
            annotators, 2 if flips else k, ignore=255, seed=i + 100
        ),
        'seg_logits': torch.randn(k, 5, 7, generator=g).log_softmax(0),
        'sample_probs': torch.rand(k, 5, 7, generator=g).softmax(0),
    }
    for name, data in fields.items():
        sample.set_data({name: PixelData(data=data)})
    if flips:
        sample.set_metainfo({'flips': flips})
    return sample


def evaluator(*configs, classes=('background', 'nodule')):
    result = Evaluator([METRICS.build(config) for config in configs])
    result.dataset_meta = {'classes': classes}
    return result


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
    options = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}
    for n in (2, 6):
        pairs = [(x.pred_samples.data[:n], x.gt_sem_segs.data) for x in images]
        ged = [generalized_energy_distance(*p, **options) for p in pairs]
        hm = [hungarian_matched_iou(*p, **options) for p in pairs]
        best = [best_match_iou(*p, **options).mean() for p in pairs]
        assert got[f'GED_{n}'] == pytest.approx(np.mean(ged))
        assert got[f'HM-IoU_{n}'] == pytest.approx(np.mean(hm))
        assert got[f'D_max_{n}'] == pytest.approx(np.mean(best))
        assert got[f'GED_{n}_left_out'] == 0


def test_metrics_share_the_pairs_of_an_image(monkeypatch):
    calls = []
    count = iou_module.class_ious
    monkeypatch.setattr(
        iou_module, 'class_ious', lambda *a: calls.append(1) or count(*a)
    )
    run = evaluator(*BOTH)
    run.process([image(0), image(1)])
    run.evaluate(2)
    assert len(calls) == 2


def test_flips_in_the_metainfo_make_it_the_flip_distance():
    images = [image(i, 4, 1, flips=FLIPS) for i in range(3)]
    void = image(7, 4, 1, flips=FLIPS)
    void.gt_sem_segs.data[:] = 255  # nothing to compare: left out
    run = evaluator(BOTH[0], classes=('a', 'b', 'a2', 'b2'))
    run.process([*images, void])
    got = run.evaluate(4)
    want = [
        flip_energy_distance(
            x.pred_samples.data[:2],
            x.gt_sem_segs.data[0],
            flips=FLIPS,
            num_classes=4,
        )
        for x in images
    ]
    left_out = sum(bool(torch.isnan(w)) for w in want)
    assert left_out < 3
    assert got['GED_2'] == pytest.approx(np.nanmean(want))
    assert got['GED_2_left_out'] == 1 + left_out


def test_undefined_images_are_counted_not_averaged():
    blank = image(0, 3)
    blank.pred_samples.data[:] = 0
    blank.gt_sem_segs.data[:] = 0
    full = image(1, 3)
    metric = {'type': 'GEDMetric', 'num_samples': 6, 'classes': (1, 2)}
    run = evaluator(metric, classes=('a', 'b', 'c'))
    run.process([blank, full])
    got = run.evaluate(2)
    assert got['GED_6_left_out'] == 1 and np.isfinite(got['GED_6'])


def test_csv_holds_every_image(tmp_path):
    path = tmp_path / 'new' / 'scores.csv'
    run = evaluator(
        {'type': 'GEDMetric', 'csv_file': str(path)} | {'num_samples': 3}
    )
    run.process([image(i) for i in range(3)])
    got = run.evaluate(3)
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [r['image'] for r in rows] == [f'images/{i}.png' for i in range(3)]
    mean = np.mean([float(row['GED_3']) for row in rows])
    assert got['GED_3'] == pytest.approx(mean)


def test_one_label_only_in_gt_sem_seg():
    sample = image(0, annotators=1)
    data = {'gt_sem_seg': PixelData(data=sample.gt_sem_segs.data.long())}
    other = SegDataSample(metainfo=sample.metainfo)
    other.set_data(data | {'pred_samples': sample.pred_samples})
    scores = []
    for x in (sample, other):
        run = evaluator(BOTH[0])
        run.process([x])
        scores.append(run.evaluate(1))
    assert scores[0] == scores[1]


def test_calibration_of_probabilities_and_sample_mean():
    images = [image(i, annotators=1 + i % 3) for i in range(4)]
    run = evaluator({'type': 'CalibrationMetric', 'num_bins': 5})
    run.process(images)
    got = run.evaluate(4)
    nll, counts, bins, mean_bins = (
        [],
        [],
        *(CalibrationBins(5) for _ in range(2)),
    )
    for x in images:
        labels = x.gt_sem_segs.data
        probs = x.seg_logits.data.exp()
        bins.update(probs, labels)
        mean_bins.update(x.sample_probs.data, labels)
        nll.append(negative_log_likelihood(probs, labels))
        counts.append((labels != 255).sum())
    assert got['ECE'] == pytest.approx(bins.ece.item())
    assert got['MCE'] == pytest.approx(bins.mce.item())
    assert got['ECE_samples'] == pytest.approx(mean_bins.ece.item())
    want = np.average(nll, weights=counts)
    assert got['NLL'] == pytest.approx(want)
    assert not any(key.startswith('offset') for key in got)


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


def test_sample_mean_from_maps_if_probabilities_are_missing():
    sample = image(0)
    maps = sample.pred_samples.data
    del sample.sample_probs
    run = evaluator({'type': 'CalibrationMetric'})
    run.process([sample])
    got = run.evaluate(1)
    frequency = torch.stack([(maps == c).double().mean(0) for c in (0, 1)])
    bins = CalibrationBins()
    bins.update(frequency, sample.gt_sem_segs.data)
    assert got['ECE_samples'] == pytest.approx(bins.ece.item(), abs=1e-6)


def _rank(rank, folder, queue):
    torch.distributed.init_process_group(
        'gloo', init_method=f'file://{folder}/init', rank=rank, world_size=2
    )
    run = evaluator(*BOTH, {'type': 'CalibrationMetric'})
    for metric in run.metrics:
        metric.collect_dir = None
    order = [0, 1, 2, 3, 4, 0]  # the sampler repeats the first to fill up
    mine = [image(i, annotators=1 + i % 3) for i in order[rank::2]]
    run.process(mine[:2])
    run.process(mine[2:])
    queue.put((rank, run.evaluate(5)))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_two_processes_score_exactly_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # results are exchanged through files here
    context = multiprocessing.get_context('spawn')
    queue = context.Queue()
    ranks = [
        context.Process(target=_rank, args=(r, tmp_path, queue))
        for r in range(2)
    ]
    for process in ranks:
        process.start()
    both = dict(queue.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join(30)
    run = evaluator(*BOTH, {'type': 'CalibrationMetric'})
    run.process([image(i, annotators=1 + i % 3) for i in range(5)])
    alone = run.evaluate(5)
    for rank in range(2):
        assert both[rank].keys() == alone.keys()
        assert both[rank] == pytest.approx(alone, rel=1e-12)


def test_bad_use():
    with pytest.raises(ValueError, match='num_samples'):
        GEDMetric(num_samples=0)
    with pytest.raises(ValueError, match='absent'):
        GEDMetric(absent='zero')
    run = evaluator({'type': 'GEDMetric', 'num_samples': 7})
    with pytest.raises(ValueError, match=r'num_samples=7.*drew 6'):
        run.process([image(0)])
    sample = image(0)
    del sample.pred_samples
    with pytest.raises(ValueError, match=r"0\.png.*'pred_samples'"):
        run.process([sample])
    run = evaluator({'type': 'HMIoUMetric'}, classes=('a', 'b', 'c', 'd'))
    with pytest.raises(ValueError, match='GEDMetric'):
        run.process([image(0, 4, 1, flips=FLIPS)])
