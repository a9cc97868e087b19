import csv

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import METRICS
from mmseg.structures import SegDataSample

from mmcar.evaluation import (
    GEDMetric,
    best_match_iou,
    ged,
    hm_iou,
)
from tests.forking import Forked
from tests.test_docs import code_blocks

from ..predicted import evaluator, image

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
            {'type': 'CalibrationMetric'},
            'Brier_samples',
            'calibration_left_out',
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
    found = []
    for images in ([plain], [more], [more, nobody]):
        run = evaluator(metric)
        run.process(images)
        found.append(run.evaluate(len(images)))
    assert len({x[score] for x in found}) == 1
    assert [x[nobody_left_out] for x in found] == [0, 0, 1]
    assert [x[labels_left_out] for x in found] == [0, 2, 5]


def test_csv_holds_every_image(tmp_path):
    path = tmp_path / 'new' / 'scores.csv'
    config = {'type': 'GEDMetric', 'csv_file': str(path), 'num_samples': 3}
    run = evaluator(config)
    run.process([image(i) for i in range(3)])
    got = run.evaluate(3)
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [r['image'] for r in rows] == [f'images/{i}.png' for i in range(3)]
    mean = np.mean([float(row['GED_3']) for row in rows])
    assert got['GED_3'] == pytest.approx(mean)


def test_the_metric_of_the_docs():
    blocks = code_blocks('docs/metrics.md')
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
    want = [
        abs(
            (x.pred_samples.data == 1).sum() / 16
            - (x.gt_sem_segs.data == 1).sum() / 3
        )
        for x in images
    ]
    assert got['area_error'] == pytest.approx(np.mean(want))
    assert got['area_error_left_out'] == 1
    assert got['AreaError_labels_left_out'] == 3


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


def _rank(rank, folder):
    torch.distributed.init_process_group(
        'gloo', init_method=f'file://{folder}/init', rank=rank, world_size=2
    )
    run = evaluator(*BOTH, {'type': 'CalibrationMetric'})
    order = [0, 1, 2, 3, 4, 0]  # the sampler repeats the first to fill up
    mine = [image(i, annotators=1 + i % 3) for i in order[rank::2]]
    run.process(mine[:2])
    run.process(mine[2:])
    found = run.evaluate(5)
    torch.save(found, f'{folder}/{rank}.pt')
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_two_processes_score_exactly_as_one(tmp_path):
    # results are exchanged through files of the current folder here
    ranks = [Forked(_rank, r, tmp_path, cwd=tmp_path) for r in range(2)]
    for rank in ranks:
        done = rank.finish()
        assert done.returncode == 0, done.stderr
    run = evaluator(*BOTH, {'type': 'CalibrationMetric'})
    run.process([image(i, annotators=1 + i % 3) for i in range(5)])
    alone = run.evaluate(5)
    for rank in range(2):
        found = torch.load(tmp_path / f'{rank}.pt')
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
