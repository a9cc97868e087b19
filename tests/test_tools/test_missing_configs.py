"""Every tool names a config file that is not there."""

import sys

import pytest

from mmcar.utils.errors import UserError

from .scripts import load_script

TOOLS = {
    'cache_black_box.py': (),
    'calibrate.py': ('x.pth',),
    'test.py': (),
    'train.py': (),
    'validate.py': (),
    'analysis_tools/bounds.py': (),
    'analysis_tools/browse_dataset.py': ('out',),
    'analysis_tools/check_dataset.py': (),
    'analysis_tools/figures.py': ('x.pth',),
    'analysis_tools/fit_fields.py': (),
    'analysis_tools/report.py': ('x.pth',),
    'analysis_tools/training_memory.py': (),
}
SENTENCE = r'There is no config.* nowhere/mine\.py'


@pytest.mark.parametrize('tool', TOOLS)
def test_tools(tool, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', [tool, 'nowhere/mine.py', *TOOLS[tool]])
    with pytest.raises(UserError, match=SENTENCE):
        load_script(tool).main()
