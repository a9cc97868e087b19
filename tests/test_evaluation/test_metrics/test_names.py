import pytest
from mmengine.evaluator import BaseMetric, Evaluator
from mmseg.registry import METRICS

from mmcar.evaluation import metric_configs

from ..predicted import image


def test_names_become_buildable_metrics():
    configs = metric_configs(
        ['GED', 'hm-iou', 'ECE', 'Brier', 'mIoU', 'mDice', 'mIoU'], (16, 50)
    )
    assert configs == [
        {'type': 'GEDMetric', 'num_samples': (16, 50)},
        {'type': 'HMIoUMetric', 'num_samples': (16, 50)},
        {'type': 'CalibrationMetric'},
        {'type': 'FiniteIoUMetric', 'iou_metrics': ['mIoU', 'mDice']},
    ]
    for config in configs:
        METRICS.build(config)


@pytest.fixture
def registered():
    """Register a user's metrics for one test."""
    names = []

    def register(metric):
        METRICS.register_module(module=metric)
        names.append(metric.__name__)
        return metric

    yield register
    for name in names:
        del METRICS.module_dict[name]


class MyScore(BaseMetric):
    default_prefix = ''

    def __init__(self, num_samples=1, scale=1.0):
        super().__init__()

    def process(self, data_batch, data_samples):
        self.results += data_samples

    def compute_metrics(self, results):
        return {'mine': len(results)}


def test_metrics_of_users_and_of_mmseg(registered):
    registered(MyScore)
    configs = metric_configs(['MyScore', 'GED', 'GEDMetric', 'IoUMetric'], 5)
    assert configs == [
        {'type': 'MyScore', 'num_samples': 5},
        {'type': 'GEDMetric', 'num_samples': 5},
        {'type': 'IoUMetric'},
    ]
    run = Evaluator([configs[0]])
    run.process([image(0), image(1)])
    assert run.evaluate(2) == {'mine': 2}


def test_settings_of_the_config_stay(registered):
    registered(MyScore)
    configured = [
        {'type': 'MyScore', 'scale': 3.0},
        {'type': METRICS.get('GEDMetric'), 'num_samples': 7, 'classes': (1,)},
        {'type': 'IoUMetric', 'iou_metrics': ['mIoU'], 'nan_to_num': 0},
    ]
    names = ['MyScore', 'ged', 'mDice', 'HM-IoU']
    assert metric_configs(names, 5, configured) == [
        {'type': 'MyScore', 'scale': 3.0, 'num_samples': 5},
        {'type': 'GEDMetric', 'num_samples': 7, 'classes': (1,)},
        dict(type='FiniteIoUMetric', iou_metrics=['mDice'], nan_to_num=0),
        {'type': 'HMIoUMetric', 'num_samples': 5},
    ]
