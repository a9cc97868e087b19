"""The tool as a user calls it."""

from tests.test_tools.project import ROOT, run

TOOL = ROOT / 'projects' / 'cpu_experiments' / 'long_training.py'


def test_runs_that_do_not_exist():
    result = run(TOOL, '--only', 'camvid/lnog')
    assert result.returncode == 2
    assert 'camvid/lnog' in result.stderr
    assert 'camvid/long' in result.stderr
    assert len(result.stderr.splitlines()) == 1
