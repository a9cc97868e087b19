import numpy as np
import pytest
import torch

from mmcar.evaluation import ged

from ..predicted import FLIPS, evaluator, image

GED = {'type': 'GEDMetric', 'num_samples': (2, 6)}


def test_flips_in_the_metainfo_make_it_the_flip_distance():
    images = [image(i, 4, 1, flips=FLIPS) for i in range(3)]
    void = image(7, 4, 1, flips=FLIPS)
    void.gt_sem_segs.data[:] = 255  # nothing to compare: left out
    run = evaluator(GED, classes=('a', 'b', 'a2', 'b2'))
    run.process([*images, void])
    got = run.evaluate(4)
    want = [
        ged(
            x.pred_samples.data[:2],
            x.gt_sem_segs.data,
            flips=FLIPS,
            num_classes=4,
        )
        for x in images
    ]
    left_out = sum(bool(torch.isnan(w)) for w in want)
    assert left_out < 3
    assert got['GED_2'] == pytest.approx(np.nanmean(want))
    assert got['GED_2_left_out'] == 1 + left_out


@pytest.mark.parametrize(
    'setting', [{'classes': ('a', 'b')}, {'absent': 'one'}]
)
def test_what_class_flips_would_ignore_is_refused(setting):
    run = evaluator(GED | setting, classes=('a', 'b', 'a2', 'b2'))
    with pytest.raises(ValueError, match="delete 'classes'"):
        run.process([image(0, 4, 1, flips=FLIPS)])
