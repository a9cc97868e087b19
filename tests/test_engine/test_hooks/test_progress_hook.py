"""Bars and ETA of a real training, in one line per stage."""

import re

import pytest

from tests.test_tools.project import ROOT, loader, run, write_config

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
