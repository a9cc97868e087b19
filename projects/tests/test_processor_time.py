"""Processor time counts iterations alone, also across a resume."""

import time

import pytest
from mmengine.hooks import Hook
from mmseg.registry import HOOKS

from mmcar.utils.errors import UserError
from tests.test_engine.runs import ADAM, recorded, train

from ..processor_time import MINUTES, ProcessorBudgetHook


@pytest.fixture
def ticking(monkeypatch):
    """A processor clock on which an iteration takes a second."""
    clock = iter(range(100, 10**6))  # earlier work does not count
    monkeypatch.setattr(time, 'process_time', lambda: float(next(clock)))


def run(folder, iters, *hooks, **changes):
    phases = [dict(iters=iters, train=['calibration'])]
    return train(
        folder,
        train_cfg=dict(type='AlternatingTrainLoop', phases=phases),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            calibration=dict(optimizer=ADAM),
        ),
        param_scheduler=None,
        custom_hooks=[dict(type='RecordHook'), *hooks],
        **changes,
    )


def within(folder, seconds, decay='cosine', **changes):
    budget = dict(type='ProcessorBudgetHook', seconds=seconds, decay=decay)
    return run(folder, 1000, budget, **changes)


@HOOKS.register_module()
class LongValidation(Hook):
    """A validation of many ticks after the tenth iteration."""

    def after_train_iter(self, runner, batch_idx, **kwargs):
        if batch_idx == 9:
            for _ in range(50):
                time.process_time()
            runner.call_hook('after_val')


def test_iterations_count_over_resumes_and_validations_do_not(
    tmp_path, ticking
):
    count, pause = dict(type='ProcessorTimeHook'), dict(type='LongValidation')
    for iters in (20, 30):
        runner = run(tmp_path, iters, count, pause, resume=iters > 20)
        logged = runner.message_hub.get_scalar('train/processor_minutes')
        assert runner.iter == iters
        assert 60 * logged.current() == pytest.approx(iters)


def test_training_ends_with_the_budget_and_is_saved(tmp_path, ticking):
    runner = within(tmp_path, 15)
    assert runner.iter == 15
    assert (tmp_path / 'iter_15.pth').is_file()
    rates = [lr['calibration'] for lr in recorded(runner).lrs]
    assert rates[0] == pytest.approx(1e-2)
    assert rates[5] == pytest.approx(1e-2 * 0.75)  # a third of the budget
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 2e-4


def test_a_resumed_run_goes_on_counting(tmp_path, ticking):
    within(tmp_path, 12)
    runner = within(tmp_path, 20, resume=True)
    assert 60 * runner.message_hub.get_info(MINUTES) == pytest.approx(20)
    assert runner.iter == 20
    again = within(tmp_path, 20, resume=True)
    assert again.iter == 20
    assert recorded(again).logs == []


def test_rates_stay_without_decay(tmp_path, ticking):
    runner = within(tmp_path, 3, decay='none')
    assert {lr['calibration'] for lr in recorded(runner).lrs} == {1e-2}


def test_bad_values_are_refused():
    with pytest.raises(UserError, match='seconds=0'):
        ProcessorBudgetHook(0)
    with pytest.raises(UserError, match="decay='linear'"):
        ProcessorBudgetHook(1, 'linear')
