"""The quickstart's own logic; its steps are tools with tests of their own."""

import json
import sys

import pytest

from .scripts import load_script


@pytest.fixture
def quickstart(tmp_path, monkeypatch):
    """The script, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return load_script('quickstart.py')


@pytest.fixture
def commands(quickstart, monkeypatch):
    """Commands that would have been run, every one of which succeeds."""
    run = []
    monkeypatch.setattr(quickstart, 'run_script', run.append)
    return run


def test_a_step_whose_result_is_there_is_left_out(quickstart, commands):
    done = quickstart.WORK_DIR / 'done'
    quickstart.run_step('Step', done, 'tool.py', 1)
    assert commands == [['tool.py', '1']]
    done.parent.mkdir(parents=True)
    done.touch()
    quickstart.run_step('Step', done, 'tool.py', 1)
    assert len(commands) == 1


@pytest.mark.parametrize('platform', ['linux', 'win32'])
def test_a_step_runs_as_a_script(quickstart, monkeypatch, tmp_path, platform):
    monkeypatch.setattr(sys, 'platform', platform)
    (tmp_path / 'tool.py').write_text(
        'import sys\n'
        'if __name__ == "__main__":\n'
        '    print(*sys.argv, file=open("said", "w"))\n'
        '    sys.exit(int(sys.argv[2]))\n'
    )
    before = list(sys.argv)
    quickstart.run_step('Step', quickstart.WORK_DIR, 'tool.py', '--a', 0)
    assert (tmp_path / 'said').read_text() == 'tool.py --a 0\n'
    assert sys.argv == before
    with pytest.raises(SystemExit) as exit_:  # it fails and ends the run
        quickstart.run_step('Step', quickstart.WORK_DIR, 'tool.py', '--a', 3)
    assert exit_.value.code == 3


def test_data_that_was_begun_is_gone_on_with(quickstart, commands):
    quickstart.DATA.mkdir(parents=True)
    settings = quickstart.DATA / 'settings.json'
    settings.write_text(json.dumps(dict(patients=9, seed=0)))
    quickstart.make_data()
    assert commands[0][-2:] == ['--patients', '9']
    quickstart.make_data()
    assert len(commands) == 1
