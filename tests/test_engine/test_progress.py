"""The ETA of phases that cost different amounts."""

import re

import pytest

from mmcar.engine import Schedule
from mmcar.engine.progress import RemainingTime
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


def test_a_kind_not_seen_yet_costs_as_others_of_its_phase():
    left = RemainingTime(Schedule([F, G]))
    for i in range(1010):
        left.measure(i, cost(i))
    assert left.seconds() == pytest.approx(290 * 1.5)


def test_resumed_runs_count_what_is_left():
    left = RemainingTime(Schedule([F, G]), start=1200)
    assert left.seconds() == 0.0, 'nothing is known yet'
    left.measure(1200, 1.5)
    assert left.seconds() == pytest.approx(99 * 1.5)


def test_skipped_phases_cost_nothing():
    skipped = dict(F, iters=0)
    left = RemainingTime(Schedule([skipped, G]))
    left.measure(0, 2.0)
    assert left.seconds() == pytest.approx(299 * 2.0)


TRAIN = ROOT / 'tools' / 'train.py'
TEST = ROOT / 'tools' / 'test.py'


@pytest.fixture(scope='module')
def project(tmp_path_factory):
    """A training with a validation, as (result, config, work dir)."""
    folder = tmp_path_factory.mktemp('project')
    config = write_config(
        folder,
        val_dataloader=loader(folder / 'data', 'val'),
        val_evaluator=dict(type='GEDMetric', num_samples=3),
        val_cfg=dict(type='ValLoop'),
    )
    work_dir = folder / 'work'
    result = run(TRAIN, config, '--work-dir', work_dir)
    assert result.returncode == 0, result.stderr
    return result, config, work_dir


def test_one_line_per_stage(project):
    result, _, work_dir = project
    log = next(work_dir.glob('*/*.log'))
    said = result.stdout.replace('Could not import OneDL\n', '')  # a fork
    assert said == f'Training 8 iterations; log: {log}\n'
    lines = result.stderr.splitlines()
    time = r'0:\d\d:\d\d'
    for line, expected in zip(
        lines,
        (
            rf'  calibration 4/4 · {time} · loss_ce [\d.]+',
            rf'  generator \+ discriminator 4/4 · {time} · loss_\w+ .*',
            rf'  validation 2/2 · {time} · GED_3 [\d.]+ diversity_3 [\d.]+',
        ),
        strict=True,
    ):
        assert re.fullmatch(expected, line), line


def test_the_log_file_has_everything(project):
    _, _, work_dir = project
    log = next(work_dir.glob('*/*.log')).read_text()
    for part in (
        'System environment',
        'Config:',
        'Hooks will be executed',
        'Iter(train)',
        'Iter(val)',
    ):
        assert part in log


def test_eta_of_the_log_is_there_and_ends_at_zero(project):
    _, _, work_dir = project
    log = next(work_dir.glob('*/*.log')).read_text()
    etas = re.findall(r'Iter\(train\).*eta: (\S+)', log)
    assert len(etas) == 8
    assert etas[-1] == '0:00:00'


def test_verbose_brings_all_back_and_no_bar(project, tmp_path):
    _, config, work_dir = project
    args = (config, work_dir / 'iter_8.pth', '--work-dir', tmp_path)
    quiet = run(TEST, *args)
    assert quiet.returncode == 0, quiet.stderr
    assert 'System environment' not in quiet.stdout
    assert 'Loads checkpoint' not in quiet.stdout
    assert re.fullmatch(r'  test 2/2 · 0:\d\d:\d\d\n', quiet.stderr)
    verbose = run(TEST, *args, '--verbose')
    assert 'System environment' in verbose.stdout
    assert 'Hooks will be executed' in verbose.stdout
    assert '· 0:' not in verbose.stderr
    assert 'GED_3' in quiet.stdout
