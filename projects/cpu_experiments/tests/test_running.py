"""The suite's own logic; its trainings are tools with tests of their own."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mmcar.utils.errors import UserError

from ..cpu_experiments.running import Experiments, locked, order_runs
from ..cpu_experiments.suite import Row, both_noises

ROW = Row('bubil', 'gumbel', 'calibration', 'training-free', 2)


def test_what_is_finished_is_not_run_again(commands, tmp_path):
    suite = Experiments(tmp_path)
    for _ in range(2):
        suite.test(ROW, 1)
    assert [command[1] for command in commands] == [
        'tools/train.py',
        'tools/test.py',
    ]
    assert 'randomness.seed=1' in commands[0]
    assert 'model.test_cfg.seed=1' in commands[1]
    assert 'model.noise.type=NormalNoise' in commands[1]


def test_options_reach_their_tool(commands, tmp_path):
    options = (['train_cfg.val_interval=9'], ['model.test_cfg.num_samples=4'])
    Experiments(tmp_path, *options).test(ROW, 0)
    for (own,), (other,), command in zip(
        options, options[::-1], commands, strict=True
    ):
        assert own in command and other not in command
    # The user's option comes after the suite's own and wins.
    assert commands[1][-1] == options[1][0]


def test_nothing_runs_twice_at_once(commands, tmp_path, monkeypatch):
    """Two suites on one folder wait for each other, as two processes do."""
    record = subprocess.Popen

    def slow(*args, **kwargs):
        time.sleep(0.2)
        return record(*args, **kwargs)

    monkeypatch.setattr(subprocess, 'Popen', slow)
    suites = [Experiments(tmp_path) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda suite: suite.test(ROW, 0), suites))
    assert len(commands) == 2


def test_a_folder_stays_locked_while_its_tool_runs(tmp_path, capsys):
    """Even if the suite that started the tool is gone."""
    with locked(tmp_path) as lock:
        tool = subprocess.Popen(['sleep', '0.5'], pass_fds=(lock,))
    with locked(tmp_path):
        assert tool.wait(timeout=0.2) == 0
    assert f'Waiting for what runs in {tmp_path}' in capsys.readouterr().out


def test_f_of_the_same_seed_is_taken_over(commands, tmp_path):
    row = Row('bubil', 'recipe', 'recipe', '')
    Experiments(tmp_path).test(row, 1)
    first, second, _ = commands
    assert first[2].endswith('bubil/calibration.py')
    assert second[2].endswith('bubil/recipe.py')
    path = tmp_path / 'bubil' / 'calibration' / 'seed1' / 'iter_1.pth'
    for part in ('calibration', 'generator.net'):
        key = f'model.decode_head.{part}.init_cfg.checkpoint'
        assert f'{key}={path}' in second


def test_the_black_box_of_the_work_dir_is_used_everywhere(commands, tmp_path):
    """And trained once, for all seeds."""
    for seed in (0, 1):
        row = Row('camvid', 'gumbel', 'calibration', '')
        Experiments(tmp_path).test(row, seed)
    path = tmp_path / 'camvid' / 'black_box' / 'iter_1.pth'
    trained, *others = commands
    assert trained[2].endswith('camvid/black_box.py')
    assert len(others) == 4
    for command in others:
        assert f'model.decode_head.black_box.checkpoint={path}' in command


def test_a_failure_names_the_log(commands, tmp_path, monkeypatch):
    wait = os.wait4
    monkeypatch.setattr(os, 'wait4', lambda *args: (0, 256, wait(*args)[2]))
    suite = Experiments(tmp_path)
    with pytest.raises(UserError, match=r'output\.log'):
        suite.test(ROW, 0)
    assert not suite.scores_file(ROW, 0).exists()


def test_trainings_come_first_each_once():
    rows = both_noises('bubil', 'recipe', 'recipe', '', 2)
    order = order_runs(rows, None)
    assert [(row is rows[1], seed) for row, seed in order] == [
        (False, 0),
        (False, 1),
        (True, 0),
        (True, 1),
    ]
    assert len(order_runs(rows, 1)) == 2
