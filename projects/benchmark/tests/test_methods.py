"""Equal terms: parameters, settings and budgets of every method."""

import pytest
from mmengine.config import Config
from mmseg.registry import MODELS

from mmcar.datasets import CamVidFlipsDataset
from mmcar.models import StochasticSegmentor
from mmcar.structures import ClassFlips
from tests.test_tools.project import ROOT

from ..benchmark import ours
from ..benchmark.configs import parts
from ..benchmark.methods import METHODS, RATES, Setting, best_of
from ..benchmark.plans import FITTED, TRAINED
from ..benchmark.refined import DIETS, FED
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
    return [*first, *method.others(task, dict.fromkeys(first, 0.0))]


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
            same = task.known and ours.VIEWS in method.variants
            assert len(set(tried)) == NUM_SETTINGS - same
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
    assert {tuple(s) for s in method.others(TASKS['bubil'], geds)} == {
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
    # The net of the tuned F does not see a black box.
    assert without == {'tuned', 'ranked', 'flow', 'exact_flow'}
    without = {n for n, m in METHODS.items() if not m.fits(TASKS['bubil64'])}
    assert without == {'groups'}  # no class has a twin
    slow = {name for name, m in METHODS.items() if m.slow}
    assert not any(METHODS[n].fits(TASKS['bubil']) for n in slow)


def test_twins_are_those_of_the_data_set():
    rows = ClassFlips.parse(CamVidFlipsDataset.METAINFO['class_flips'])
    twins = [(row.source, row.twin) for row in rows]
    assert sorted(TASKS['camvid'].twins) == sorted(twins)
    base = 'configs/_base_/datasets/camvid_flips.py'
    cfg = Config.fromfile(ROOT / base)
    assert sorted(map(tuple, cfg.twins)) == sorted(twins)


@pytest.mark.parametrize('name', TASKS)
def test_a_variant_changes_what_is_trained_or_drawn(name):
    task = TASKS[name]
    for method in METHODS.values():
        if not method.fits(task):
            continue
        seen = []
        for setting in settings(method, task)[-len(method.variants) + 1 :]:
            plan = method.plan(task, setting)
            trained = [make(['f.pth'] * 4) for make in plan.trainings]
            seen.append((trained, plan.model(['f.pth'] * 4)))
        assert all(a != b for i, a in enumerate(seen) for b in seen[:i])


def trainings(method, task, variant, rate=3e-3):
    """What a method trains, one after the other."""
    found = []
    plan = METHODS[method].plan(TASKS[task], Setting(variant, rate))
    for make in plan.trainings:
        found.append(make([f'{i}.pth' for i in range(len(found))]))
    return found, plan.model([f'{i}.pth' for i in range(len(found))])


def test_car_is_that_of_the_paper():
    """As configs/_base_ has it, but for rates and sizes."""
    base = Config.fromfile(ROOT / 'configs/_base_/models/car.py').model
    schedule = Config.fromfile(
        ROOT / 'configs/_base_/schedules/car_two_stage.py'
    )
    found, _ = trainings('car', 'ct', 'as in the paper')
    f, refined = found
    betas = tuple(schedule.adam.betas)
    assert f.betas == refined.betas == betas
    assert refined.cycles == schedule.stage_2.cycles
    assert refined.hooks == schedule.custom_hooks
    rates = refined.rates
    assert rates['discriminator'] == pytest.approx(rates['generator'] / 20)
    assert refined.model['train_cfg']['num_samples'] == 20
    for key in ('loss_adv', 'loss_samples'):
        assert refined.model[key] == base[key]
    on_a_black_box = trainings('car', 'camvid', 'as in the paper')[0][1].model
    assert on_a_black_box['train_cfg']['num_samples'] == 7


def test_the_recipe_is_the_shipped_one():
    shipped = Config.fromfile(ROOT / 'configs/_base_/models/car_recipe.py')
    schedule = Config.fromfile(ROOT / 'configs/_base_/schedules/recipe.py')
    (f, refined), tested = trainings('recipe', 'ct', 'as in the recipe')
    optims = schedule.optim_wrapper
    assert f.betas == tuple(optims.calibration.optimizer.betas)
    assert refined.betas == tuple(optims.generator.optimizer.betas)
    for key in ('noise', 'loss_adv'):
        assert refined.model[key] == shipped.model[key]
    calibration, energy = refined.model['loss_samples']
    assert energy.pop('classes') == (1,)  # as by default of two classes
    assert [calibration, energy] == [
        dict(x) for x in shipped.model.loss_samples
    ]
    assert refined.model['train_cfg']['num_samples'] == 8
    # All rows are scored with independent samples.
    assert tested['noise'] == dict(type='NormalNoise')


def test_d_keeps_its_rate_in_a_head_start():
    (_, d, refined), _ = trainings('recipe', 'ct', FED)
    assert d.decay == 'none' and refined.decay == 'cosine'
    assert set(d.rates) == {'discriminator'}
    start = refined.model['discriminator']['init_cfg']
    assert start['checkpoint'] == '1.pth'
    *_, last = trainings('recipe', 'kits_control', FED)[0]
    assert last.model['discriminator']['init_cfg']['checkpoint'] == '0.pth'


@pytest.mark.parametrize('variant', DIETS)
def test_every_diet_can_be_built(variant, monkeypatch):
    monkeypatch.chdir(ROOT)
    task = TASKS['bubil']
    plan = METHODS['recipe'].plan(task, Setting(variant, 1e-3))
    model = build(plan)
    assert (model.discriminator is None) == (DIETS[variant] is None)


def test_equal_scores_have_one_winner_whatever_their_order():
    settings = [Setting('with a draw', 1e-3), Setting('with a draw by', 1e-3)]
    for order in (settings, settings[::-1]):
        assert best_of(dict.fromkeys(order, 0.2)) == settings[0]
