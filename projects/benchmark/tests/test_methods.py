"""Equal terms: parameters, settings and budgets of every method."""

import pytest
from mmseg.registry import MODELS

from mmcar.models import StochasticSegmentor
from tests.test_tools.project import ROOT

from ..benchmark.methods import METHODS, NUM_SETTINGS
from ..benchmark.running import _parts, parameters
from ..benchmark.tasks import TASKS


def build(plan):
    """What samples, without the weights of trainings."""
    paths = [f'{i}.pth' for i in range(len(plan.trainings))]
    cfg = plan.model(paths)
    if 'checkpoints' in cfg:
        cfg = dict(cfg, checkpoints=(), num_members=len(paths))
    for part in _parts(cfg):
        if part.get('checkpoint') == 'BLACK_BOX':
            part['checkpoint'] = None
    return MODELS.build(cfg)


@pytest.mark.parametrize('task', TASKS)
def test_methods_have_as_many_parameters_within_ten_percent(task, monkeypatch):
    monkeypatch.chdir(ROOT)
    counts = {}
    for name, method in METHODS.items():
        plan = next(iter(method.plans(TASKS[task]).values()))
        model = build(plan)
        assert isinstance(model, StochasticSegmentor)
        assert model.num_classes == TASKS[task].num_classes
        counts[name] = parameters(model)
    usual = counts['training_free']
    for name, count in counts.items():
        assert abs(count / usual - 1) <= 0.1, (name, counts)


@pytest.mark.parametrize('name', METHODS)
def test_settings_and_budgets_are_equal(name):
    for task in TASKS.values():
        plans = METHODS[name].plans(task)
        assert len(plans) == NUM_SETTINGS
        for plan in plans.values():
            paths, shares = [], 0.0
            for make in plan.trainings:
                training = make(paths)
                shares += training.share
                paths.append(f'{training.name}.pth')
                assert training.rates
            assert shares == pytest.approx(1.0)
