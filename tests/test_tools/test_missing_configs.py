"""Every tool names a config that is not there, or what it lacks."""

import sys

import pytest

from mmcar.utils.errors import UserError

from .scripts import load_script

CHECKPOINT = ('x.pth',)
ANALYSIS = dict.fromkeys(('bounds', 'check_dataset', 'fit_fields'), ())
ANALYSIS |= dict(training_memory=(), browse_dataset=('out',))
ANALYSIS |= dict(figures=CHECKPOINT, report=CHECKPOINT)
TOOLS = dict.fromkeys(('cache_black_box', 'test', 'train', 'validate'), ())
TOOLS |= dict(calibrate=CHECKPOINT)
TOOLS |= {f'analysis_tools/{k}': words for k, words in ANALYSIS.items()}
LOADERS = {
    'calibrate': 'val_dataloader',
    'analysis_tools/bounds': 'test_dataloader',
    'analysis_tools/browse_dataset': 'train_dataloader',
    'analysis_tools/fit_fields': 'train_dataloader',
}


@pytest.mark.parametrize('tool', TOOLS)
def test_tools(tool, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    argv = [f'{tool}.py', 'mine.py', *TOOLS[tool]]
    monkeypatch.setattr(sys, 'argv', argv)
    with pytest.raises(UserError, match=r'no config.* mine\.py'):
        load_script(argv[0]).main()
    if tool in LOADERS:
        (tmp_path / 'mine.py').write_text('')
        with pytest.raises(UserError, match=LOADERS[tool]):
            load_script(argv[0]).main()
