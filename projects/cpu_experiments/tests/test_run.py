"""The suite's own logic; its trainings are tools with tests of their own."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mmcar import cli
from tests.test_tools.project import ROOT
from tests.test_tools.scripts import load_script

experiments = load_script('experiments.py')
ROW = experiments.Row('bubil', 'gumbel', 'calibration', 2)


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Commands that would have run; each leaves the files of its tool."""
    run = []

    def record(command, **_):
        run.append(command)
        folder = Path(command[command.index('--work-dir') + 1])
        if command[1] == 'tools/train.py':
            checkpoint = folder / 'iter_1.pth'
            state = {
                'decode_head.calibration.w': torch.zeros(3000),
                'decode_head.calibration.running_mean': torch.zeros(9000),
                'decode_head.generator.w': torch.zeros(2000),
                'discriminator.w': torch.zeros(9000),
            }
            torch.save(dict(state_dict=state), checkpoint)
            (folder / 'last_checkpoint').write_text(str(checkpoint))
        else:
            scores = {'GED_16': 0.1 * len(run), 'ECE': 0.5}
            text = json.dumps(dict(scores=scores))
            (folder / 'test_scores.json').write_text(text)
        return SimpleNamespace(pid=0)

    monkeypatch.chdir(ROOT)
    usage = SimpleNamespace(ru_utime=100.0, ru_stime=20.0)
    monkeypatch.setattr(subprocess, 'Popen', record)
    monkeypatch.setattr(os, 'wait4', lambda pid, _: (pid, 0, usage))
    return run


def test_every_row_has_a_config_and_weights_from_a_config():
    for row in experiments.SUITE:
        folder = ROOT / 'configs' / 'experiments' / row.group
        assert (folder / f'{row.name}.py').is_file(), row
        if row.weights:
            assert (folder / f'{row.weights}.py').is_file(), row


def test_what_is_finished_is_not_run_again(commands, tmp_path):
    suite = experiments.Experiments(tmp_path, [])
    for _ in range(2):
        suite.test(ROW, 1)
    assert [command[1] for command in commands] == [
        'tools/train.py',
        'tools/test.py',
    ]
    assert 'randomness.seed=1' in commands[0]
    assert 'model.test_cfg.seed=1' in commands[1]


def test_nothing_runs_twice_at_once(commands, tmp_path, monkeypatch):
    """Two suites on one folder wait for each other, as two processes do."""
    record = subprocess.Popen

    def slow(*args, **kwargs):
        time.sleep(0.2)
        return record(*args, **kwargs)

    monkeypatch.setattr(subprocess, 'Popen', slow)
    suites = [experiments.Experiments(tmp_path, []) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda suite: suite.test(ROW, 0), suites))
    assert len(commands) == 2


def test_a_folder_stays_locked_while_its_tool_runs(tmp_path, capsys):
    """Even if the suite that started the tool is gone."""
    with experiments.locked(tmp_path) as lock:
        tool = subprocess.Popen(['sleep', '0.5'], pass_fds=(lock,))
    with experiments.locked(tmp_path):
        assert tool.wait(timeout=0.2) == 0
    assert f'Waiting for what runs in {tmp_path}' in capsys.readouterr().out


def test_f_of_the_same_seed_is_taken_over(commands, tmp_path):
    suite = experiments.Experiments(tmp_path, [])
    suite.test(experiments.Row('bubil', 'recipe', 'recipe'), 1)
    first, second, _ = commands
    assert first[2].endswith('bubil/calibration.py')
    assert second[2].endswith('bubil/recipe.py')
    path = tmp_path / 'bubil' / 'calibration' / 'seed1' / 'iter_1.pth'
    for part in ('calibration', 'generator.net'):
        key = f'model.decode_head.{part}.init_cfg.checkpoint'
        assert f'{key}={path}' in second


def test_a_failure_names_the_log(commands, tmp_path, monkeypatch):
    wait = os.wait4
    monkeypatch.setattr(os, 'wait4', lambda *args: (0, 256, wait(*args)[2]))
    suite = experiments.Experiments(tmp_path, [])
    with pytest.raises(cli.UserError, match=r'output\.log'):
        suite.test(ROW, 0)
    assert experiments.load_scores([ROW], suite) == {}


def test_trainings_come_first_each_once():
    rows = experiments.both_noises('bubil', 'recipe', 'recipe', 2)
    order = experiments.order_runs(rows, None)
    assert [(row is rows[1], seed) for row, seed in order] == [
        (False, 0),
        (False, 1),
        (True, 0),
        (True, 1),
    ]
    assert len(experiments.order_runs(rows, 1)) == 2


def test_table(commands, tmp_path):
    suite = experiments.Experiments(tmp_path, [])
    for seed in (0, 1):
        suite.test(ROW, seed)
    scores = experiments.load_scores([ROW], suite)
    *_, head, _, line = experiments.summarise(scores, tmp_path).split('\n')[:5]
    heads = [cell.strip() for cell in head.strip('|').split('|')]
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    table = dict(zip(heads, cells, strict=True))
    # The tests were the second and the fourth command.
    assert table['GED 16'] == '0.3000 ± 0.1414'
    assert table['seeds'] == '2'
    assert table['parameters'] == '3k'
    assert table['minutes'] == '2.0'
    assert 'HM-IoU 16' not in table
