"""Tools that leave their files without doing any work."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.test_tools.project import ROOT


@pytest.fixture
def commands(monkeypatch):
    """Commands that would have run; each leaves the files of its tool."""
    run = []

    def record(command, **_):
        run.append(command)
        folder = Path(command[command.index('--work-dir') + 1])
        if command[1] == 'tools/train.py':
            checkpoint = folder / 'iter_1.pth'
            state = {
                'decode_head.calibration.w': torch.zeros(30000),
                'decode_head.calibration.running_mean': torch.zeros(90000),
                'decode_head.generator.w': torch.zeros(20000),
                'discriminator.w': torch.zeros(90000),
            }
            torch.save(dict(state_dict=state), checkpoint)
            (folder / 'last_checkpoint').write_text(str(checkpoint))
        else:
            scores = {
                'GED_16': 0.1 * len(run),
                'ECE': 0.5,
                'MCE': float('nan'),
            }
            text = json.dumps(dict(scores=scores))
            (folder / 'test_scores.json').write_text(text)
        return SimpleNamespace(pid=0)

    monkeypatch.chdir(ROOT)
    usage = SimpleNamespace(ru_utime=100.0, ru_stime=20.0)
    monkeypatch.setattr(subprocess, 'Popen', record)
    monkeypatch.setattr(os, 'wait4', lambda pid, _: (pid, 0, usage))
    return run
