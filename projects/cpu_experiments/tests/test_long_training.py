"""The tool as a user calls it."""

import pytest

from tests.test_tools.project import ROOT, run

TOOL = ROOT / 'projects' / 'cpu_experiments' / 'long_training.py'


@pytest.mark.parametrize(
    'option, wrong, right',
    [
        ('--only', 'camvid/lnog', 'camvid/long'),
        ('--end', 'camvid/lnog', 'camvid/long'),
        ('--changes', 'camvid/nod', 'camvid/no_d'),
    ],
)
def test_runs_that_do_not_exist(option, wrong, right):
    result = run(TOOL, option, wrong)
    assert result.returncode == 2
    assert f'{option} {wrong}' in result.stderr
    assert right in result.stderr
    assert len(result.stderr.splitlines()) == 1
