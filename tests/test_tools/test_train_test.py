"""tools/train.py and tools/test.py as a user runs them."""

import json
import os
import runpy
import shutil
import socket
import subprocess
import sys

import pytest
import torch

from mmcar.apis import training
from tests.test_compat import MakesFile
from tests.test_tools.project import ROOT, run, write_config
from tests.test_tools.scripts import load_script

TRAIN = ROOT / 'tools' / 'train.py'
TEST = ROOT / 'tools' / 'test.py'


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
    """A project after training, as (config, work dir)."""
    folder = tmp_path_factory.mktemp('project')
    config, work_dir = write_config(folder), folder / 'work'
    result = run(TRAIN, config, '--work-dir', work_dir)
    assert result.returncode == 0, result.stderr
    return config, work_dir


@pytest.fixture
def refused(monkeypatch, capsys):
    """Runs a tool in this process; checks for one sentence, exit code 2."""

    def run_refused(tool, *args: object) -> str:
        monkeypatch.setattr(sys, 'argv', [str(tool), *map(str, args)])
        with pytest.raises(SystemExit) as exit_:
            runpy.run_path(str(tool), run_name='__main__')
        assert exit_.value.code == 2
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert last.startswith(f'{tool.name}: error: ')
        return last

    monkeypatch.setenv('LOCAL_RANK', '0')
    monkeypatch.delenv('MMCAR_DEBUG', raising=False)
    return run_refused


def test_trains_both_stages(trained):
    _, work_dir = trained
    assert (work_dir / 'iter_8.pth').is_file()
    log = next(work_dir.glob('*/vis_data/scalars.json')).read_text()
    steps = [json.loads(line) for line in log.splitlines()]
    assert len(steps) == 8
    assert 'loss_cal' not in str(steps[3])
    assert 'loss_cal' in str(steps[4])


def test_scores_files_and_figures(trained, tmp_path):
    config, work_dir = trained
    result = run(
        TEST,
        *(config, work_dir / 'iter_8.pth', '--work-dir', tmp_path),
        *('--eval', 'GED', 'hm-iou', 'ECE', 'mIoU', '--num-samples', 5),
        *('--out', tmp_path / 'out', '--show-dir', tmp_path / 'show'),
        *('--figures', tmp_path / 'figures'),
        *('--cfg-options', 'model.test_cfg.support_points=20'),
    )
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / 'test_scores.json').read_text())
    assert report['num_samples'] == 5
    assert report['independent_samples'] is False
    assert 'not independent' in result.stdout
    for name in ('GED_5', 'HM-IoU_5', 'ECE', 'mIoU'):
        assert report['scores'][name] >= 0
        assert name in result.stdout
    samples = tmp_path / 'out' / 'samples' / 'val' / '0'
    assert len(list(samples.glob('*.png'))) == 5
    assert len(list((tmp_path / 'show' / 'val').glob('*.png'))) == 4
    drawn = sorted(path.name for path in (tmp_path / 'figures').iterdir())
    assert drawn == ['reliability.png', 'samples.png']


def test_scores_of_another_test_are_kept(tmp_path):
    keep = load_script('test.py').keep_other_scores
    path = tmp_path / 'test_scores.json'
    for number in (0, 1, 1, 2):
        keep(path, dict(scores=number))
        path.write_text(json.dumps(dict(scores=number)))
    kept = [json.loads(p.read_text()) for p in sorted(tmp_path.iterdir())]
    assert [report['scores'] for report in kept] == [2, 0, 1]


def test_figures(trained, tmp_path):
    config, work_dir = trained
    shutil.copytree(work_dir, tmp_path / 'work')
    args = (work_dir / 'iter_8.pth', '--images', 2, '--work-dir')
    tool = ROOT / 'tools/analysis_tools/figures.py'
    result = run(tool, config, *args, tmp_path / 'work')
    assert result.returncode == 0, result.stderr
    drawn = {path.stem for path in tmp_path.glob('work/figures/*.png')}
    assert drawn == {'samples', 'reliability', 'training'}


def test_resume_goes_on(trained, tmp_path):
    config, work_dir = trained
    shutil.copytree(work_dir, tmp_path / 'work')
    (tmp_path / 'work' / 'iter_8.pth').unlink()
    args = (config, '--work-dir', tmp_path / 'work', '--resume')
    result = run(TRAIN, *args)
    assert result.returncode == 0, result.stderr
    assert 'from step 4' in result.stdout + result.stderr
    old = torch.load(work_dir / 'iter_8.pth')['state_dict']
    new = torch.load(tmp_path / 'work' / 'iter_8.pth')['state_dict']
    assert all(torch.equal(old[key], new[key]) for key in old)


class TestRefusals:
    @pytest.mark.parametrize(
        'kind, expected',
        [
            ('absent', 'no checkpoint'),
            ('other', 'does not fit'),
            ('code', 'could run code'),
            ('none', 'name a checkpoint'),
        ],
    )
    def test_checkpoint(self, refused, trained, tmp_path, kind, expected):
        path = tmp_path / 'x.pth'
        if kind == 'other':
            torch.save(dict(state_dict={'w': torch.zeros(1)}), path)
        if kind == 'code':
            torch.save(dict(x=MakesFile(tmp_path / 'trap')), path)
        args = [] if kind == 'none' else [path]
        message = refused(
            TEST, trained[0], *args, '--work-dir', tmp_path / 'w'
        )
        assert expected in message
        assert not (tmp_path / 'trap').exists()


def test_an_interruption_says_how_to_go_on(trained, monkeypatch, capsys):
    def interrupted(runner):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, 'build_runner', lambda *args: None)
    monkeypatch.setattr(training, 'train', interrupted)
    monkeypatch.setattr(sys, 'argv', [str(TRAIN), str(trained[0])])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(TRAIN), run_name='__main__')
    assert exit_.value.code == 130
    said = capsys.readouterr().err
    assert '--resume' in said and 'Traceback' not in said


def test_two_processes_train_and_test(tmp_path):
    config = write_config(tmp_path)
    environment = {
        **os.environ,
        'PYTHON': sys.executable,
        'PORT': str(find_free_port()),
    }

    def launch(script, *arguments):
        result = subprocess.run(
            ['bash', ROOT / 'tools' / script, config, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stderr[-2000:]

    launch('dist_train.sh', '2', '--work-dir', 'work')
    launch('dist_test.sh', 'work/iter_8.pth', '2', '--work-dir', 'work')
    scores = json.loads((tmp_path / 'work/test_scores.json').read_text())
    assert 0 <= scores['scores']['GED_3'] < 2


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]
