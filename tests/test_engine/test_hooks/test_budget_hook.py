"""A budget of processor time: it ends training, also across a resume."""

import time

import pytest

from mmcar.engine.hooks.budget_hook import ProcessorBudgetHook
from mmcar.engine.hooks.processor_time_hook import MINUTES
from mmcar.utils.errors import UserError
from tests.test_engine.runs import ADAM, recorded, train

PHASES = [dict(iters=1000, train=['calibration'])]


def run(folder, seconds, decay='cosine', **changes):
    return train(
        folder,
        train_cfg=dict(type='AlternatingTrainLoop', phases=PHASES),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            calibration=dict(optimizer=ADAM),
        ),
        param_scheduler=None,
        custom_hooks=[
            dict(type='RecordHook'),
            dict(type='ProcessorBudgetHook', seconds=seconds, decay=decay),
        ],
        **changes,
    )


@pytest.fixture
def ticking(monkeypatch):
    """A processor clock on which an iteration takes a second."""
    clock = iter(range(10**6))
    monkeypatch.setattr(time, 'process_time', lambda: float(next(clock)))


def test_training_ends_with_the_budget_and_is_saved(tmp_path, ticking):
    runner = run(tmp_path, 15)
    assert runner.iter == 15
    assert (tmp_path / 'iter_15.pth').is_file()
    rates = [lr['calibration'] for lr in recorded(runner).lrs]
    assert rates[0] == pytest.approx(1e-2)
    assert rates[5] == pytest.approx(1e-2 * 0.75)  # a third of the budget
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 2e-4


def test_a_resumed_run_goes_on_counting(tmp_path, ticking):
    run(tmp_path, 12)
    runner = run(tmp_path, 20, resume=True)
    assert 60 * runner.message_hub.get_info(MINUTES) == pytest.approx(20)
    assert runner.iter == 20
    again = run(tmp_path, 20, resume=True)
    assert again.iter == 20
    assert recorded(again).logs == []


def test_rates_stay_without_decay(tmp_path, ticking):
    runner = run(tmp_path, 3, decay='none')
    assert {lr['calibration'] for lr in recorded(runner).lrs} == {1e-2}


def test_bad_values_are_refused():
    with pytest.raises(UserError, match='seconds=0'):
        ProcessorBudgetHook(0)
    with pytest.raises(UserError, match="decay='linear'"):
        ProcessorBudgetHook(1, 'linear')
