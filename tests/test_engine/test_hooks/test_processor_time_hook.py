import pytest
from mmengine.hooks import Hook

from mmcar.engine.hooks import processor_time_hook
from tests.test_engine.runs import build_runner


class Clock:
    """Processor time that passes when a test says so."""

    def __init__(self):
        self.seconds = 100.0  # of earlier work, which does not count

    def process_time(self):
        return self.seconds


class Work(Hook):
    """Takes 6 seconds per iteration, and 1000 per validation."""

    priority = 'HIGHEST'

    def __init__(self, clock):
        self.clock = clock

    def after_train_iter(self, runner, batch_idx, **kwargs):
        self.clock.seconds += 6

    def before_val(self, runner):
        self.clock.seconds += 1000


def run(work_dir, clock, iters, **changes):
    runner = build_runner(
        work_dir,
        custom_hooks=[dict(type='ProcessorTimeHook')],
        train_cfg=dict(
            type='AlternatingTrainLoop',
            phases=[dict(iters=iters, train=['generator'])],
        ),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            generator=dict(optimizer=dict(type='Adam')),
        ),
        param_scheduler=None,
        **changes,
    )
    runner.register_hook(Work(clock))
    return runner


def minutes(runner):
    history = runner.message_hub.get_scalar('train/processor_minutes')
    return history.current()


def test_counts_iterations_over_resumes(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(processor_time_hook, 'time', clock)
    runner = run(tmp_path, clock, 20)
    runner.train()
    assert minutes(runner) == pytest.approx(20 * 6 / 60)

    clock.seconds += 500  # between two runs
    runner = run(tmp_path, clock, 30, resume=True)
    runner.train()
    assert runner.iter == 30
    assert minutes(runner) == pytest.approx(30 * 6 / 60)


def test_leaves_validation_out(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(processor_time_hook, 'time', clock)
    runner = run(tmp_path, clock, 20)

    class Validate(Hook):
        def after_train_iter(self, runner, batch_idx, **kwargs):
            if batch_idx == 9:
                runner.call_hook('before_val')
                runner.call_hook('after_val')

    runner.register_hook(Validate())
    runner.train()
    assert minutes(runner) == pytest.approx(20 * 6 / 60)
