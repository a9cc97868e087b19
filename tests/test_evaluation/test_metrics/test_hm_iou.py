import pytest

from ..predicted import FLIPS, evaluator, image

HM_IOU = {'type': 'HMIoUMetric', 'num_samples': (2, 6)}


def test_class_flips_are_refused():
    run = evaluator(HM_IOU, classes=('a', 'b', 'c', 'd'))
    with pytest.raises(ValueError, match='GEDMetric'):
        run.process([image(0, 4, 1, flips=FLIPS)])
