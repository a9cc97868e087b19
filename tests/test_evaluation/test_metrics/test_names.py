import pytest
from mmseg.registry import METRICS

from mmcar.evaluation import metric_configs


def test_names_become_buildable_metrics():
    configs = metric_configs(
        ['GED', 'hm-iou', 'ECE', 'Brier', 'mIoU', 'mDice', 'mIoU'], (16, 50)
    )
    assert configs == [
        {'type': 'GEDMetric', 'num_samples': (16, 50)},
        {'type': 'HMIoUMetric', 'num_samples': (16, 50)},
        {'type': 'CalibrationMetric'},
        {'type': 'IoUMetric', 'iou_metrics': ['mIoU', 'mDice']},
    ]
    for config in configs:
        METRICS.build(config)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'gedd'.*GED.*HM-IoU.*mIoU"):
        metric_configs(['gedd'], 16)
