"""The ETA of phases that cost different amounts."""

import re
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from mmengine.runner import IterBasedTrainLoop
from torch.utils.data import DataLoader

from mmcar.engine import Schedule
from mmcar.engine.progress import RemainingTime, validations
from tests.test_tools.project import ROOT, loader, run, write_config

F = dict(iters=1000, train=['calibration'])
G = dict(
    iters=300,
    train=['generator', 'discriminator'],
    cycles=dict(discriminator=(50, 50)),
)


def cost(iteration: int) -> float:
    """True seconds: F's iterations are cheap, G's dear, D's on top."""
    if iteration < 1000:
        return 0.05
    return 1.5 if (iteration - 1000) % 100 < 50 else 1.0


def true_seconds(iteration: int) -> float:
    return sum(cost(i) for i in range(iteration, 1300))


def test_with_a_preflight_the_first_phase_knows_of_the_second():
    left = RemainingTime(Schedule([F, G]))
    left.tried[0] = 0.02
    left.tried[1] = 0.6  # of D's iterations, on a smaller batch
    left.measure(0, 9.0)  # starts things up
    for i in range(1, 500):
        left.measure(i, cost(i))
    # 1.5 for each of G's, where half of them cost 1.0.
    assert left.seconds() == pytest.approx(500 * 0.05 + 300 * 1.5)
    naive = 0.05 * 800
    assert left.seconds() / naive > 10


def test_measured_kinds_are_exact():
    left = RemainingTime(Schedule([F, G]))
    for i in range(1160):
        left.measure(i, cost(i))
    assert left.seconds() == pytest.approx(true_seconds(1160))


@pytest.mark.parametrize('begin', [1, 5, 100])
@pytest.mark.parametrize('interval', [3, 4, 20])
def test_validations_are_those_of_the_stock_loop(begin, interval):
    loop = IterBasedTrainLoop(Mock(), DataLoader([0]), 8, begin, interval)
    due = [
        step
        for step in range(1, 9)
        if step >= begin and (step % interval == 0 or step == 8)
    ]
    runner = SimpleNamespace(train_loop=loop)
    for done in range(9):
        assert validations(runner, done) == sum(step > done for step in due)


TRAIN = ROOT / 'tools' / 'train.py'
TEST = ROOT / 'tools' / 'test.py'


def test_stages_have_a_line_and_the_log_has_everything(tmp_path):
    config = write_config(
        tmp_path,
        val_dataloader=loader(tmp_path / 'data', 'val'),
        val_evaluator=dict(type='GEDMetric', num_samples=3),
        val_cfg=dict(type='ValLoop'),
    )
    work_dir = tmp_path / 'work'
    result = run(TRAIN, config, '--work-dir', work_dir)
    assert result.returncode == 0, result.stderr
    (file,) = work_dir.glob('*/*.log')
    assert str(file) in result.stdout
    stages = (
        ('calibration 4/4', 'loss_ce'),
        (r'generator \+ discriminator 4/4', 'loss_'),
        ('validation 2/2', 'GED_3'),
    )
    lines = result.stderr.splitlines()
    for line, (begin, end) in zip(lines, stages, strict=True):
        assert re.match(rf'  {begin} · 0:\d\d:\d\d · {end}', line), line
    log = file.read_text()
    assert 'Config:' in log and 'Hooks will be executed' in log
    etas = re.findall(r'Iter\(train\).*eta: (\S+)', log)
    assert len(etas) == 8 and etas[-1] == '0:00:00'
    weights = work_dir / 'iter_8.pth'
    args = (config, weights, '--work-dir', tmp_path / 'test', '--verbose')
    verbose = run(TEST, *args)
    assert 'Hooks will be executed' in verbose.stdout
    assert '· 0:' not in verbose.stderr, 'no bar between the lines'
