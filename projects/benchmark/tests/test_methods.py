"""Equal terms: parameters, settings and budgets of every method."""

import pytest
from mmseg.registry import MODELS

from mmcar.models import StochasticSegmentor
from tests.test_tools.project import ROOT

from ..benchmark.configs import parts
from ..benchmark.methods import METHODS, RATES, Setting, best_of
from ..benchmark.plans import FITTED, TRAINED
from ..benchmark.running import parameters
from ..benchmark.tasks import TASKS

NUM_SETTINGS = 5
NETS = [name for name, task in TASKS.items() if not task.known]


def completed(cfg):
    """A config without what comes from trainings and data."""
    for part in parts(cfg):
        if part.get('checkpoint') == TRAINED:
            part['checkpoint'] = None
        if FITTED in part.values():
            part.update(correlation_length=4.0, common=0.5)
    return cfg


def build(plan):
    """What samples, without the weights of trainings."""
    paths = [f'{i}.pth' for i in range(len(plan.trainings))]
    cfg = plan.model(paths)
    if 'checkpoints' in cfg:
        cfg = dict(cfg, checkpoints=(), num_members=len(paths))
    return MODELS.build(completed(cfg))


def settings(method, task):
    """All that is tried, whatever the scores."""
    first = method.rates(task)
    return [*first, *method.others(dict.fromkeys(first, 0.0))]


@pytest.mark.parametrize('task', NETS)
def test_methods_have_as_many_parameters_within_ten_percent(task, monkeypatch):
    monkeypatch.chdir(ROOT)
    task, counts = TASKS[task], {}
    for name, method in METHODS.items():
        if not method.fits(task):
            continue
        for variant in method.variants:
            model = build(method.plan(task, Setting(variant, 1e-3)))
            assert isinstance(model, StochasticSegmentor)
            assert model.num_classes == task.num_classes
            counts[name, variant] = parameters(model)
    usual = counts['training_free', 'fields']
    for name, count in counts.items():
        assert abs(count / usual - 1) <= 0.1, (name, counts)


@pytest.mark.parametrize('name', METHODS)
def test_settings_and_budgets_are_equal(name):
    method = METHODS[name]
    for task in TASKS.values():
        if not method.fits(task):
            continue
        tried = settings(method, task)
        if method.make(task, method.variants[0], 1e-3).trainings:
            assert len(set(tried)) == NUM_SETTINGS
        for setting in tried:
            paths, shares = [], 0.0
            for make in method.plan(task, setting).trainings:
                training = make(paths)
                shares += training.share
                paths.append(f'{training.name}.pth')
                for network, rate in training.rates.items():
                    if network != 'discriminator':
                        assert setting.rate / 2 <= rate <= setting.rate
            assert not paths or shares == pytest.approx(1.0)


def test_other_variants_take_the_best_rate():
    method = METHODS['ssn']
    first = method.rates(TASKS['bubil'])
    assert {setting.rate for setting in first} == set(RATES)
    assert {setting.variant for setting in first} == {'rank 10'}
    geds = dict(zip(first, (0.3, 0.1, 0.2), strict=True))
    assert {tuple(s) for s in method.others(geds)} == {
        ('rank 5', RATES[1]),
        ('rank 20', RATES[1]),
    }


def test_a_score_that_is_none_does_not_win():
    first = METHODS['ssn'].rates(TASKS['kits'])
    geds = dict(zip(first, (float('nan'), 0.3, 0.2), strict=True))
    assert best_of(geds) == first[2]


def test_who_can_use_what():
    control, camvid = TASKS['kits_control'], TASKS['camvid']
    with_f = {name for name, m in METHODS.items() if m.fits(control)}
    assert with_f == {'training_free', 'learnt', 'recipe', 'car'}
    without = {name for name, m in METHODS.items() if not m.fits(camvid)}
    assert without == {'tuned'}  # its net does not see a black box
    assert all(method.fits(TASKS['bubil']) for method in METHODS.values())


@pytest.mark.parametrize('name', NETS)
def test_a_variant_changes_what_is_trained_or_drawn(name):
    task = TASKS[name]
    for method in METHODS.values():
        if not method.fits(task):
            continue
        seen = []
        for variant in method.variants:
            plan = method.plan(task, Setting(variant, 1e-3))
            trained = [make(['f.pth'] * 4) for make in plan.trainings]
            seen.append((trained, plan.model(['f.pth'] * 4)))
        assert all(a != b for i, a in enumerate(seen) for b in seen[:i])
