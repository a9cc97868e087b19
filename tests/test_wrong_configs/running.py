"""The right config, changed, and put through the tool."""

import contextlib
import copy
import io
import itertools
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from mmcar import cli
from tests.test_tools.project import loader, tiny_settings, write_data
from tests.test_tools.scripts import load_script
from tests.test_wrong_configs.corpus import DROP

ROOT = Path(__file__).parents[2]
_numbers = itertools.count()


def right_config(folder: Path) -> dict:
    """A config that uses most of what there is, and its data."""
    write_data(folder)
    runtime = Config.fromfile(ROOT / 'configs/_base_/default_runtime.py')
    evaluator = dict(type='GEDMetric', num_samples=3)
    scheduler = dict(
        type='MultiStepLR', begin='phase', by_epoch=False, milestones=[2]
    )
    settings = tiny_settings(folder)
    cfg = {
        **runtime.to_dict(),
        **settings,
        'val_dataloader': loader(folder, 'val'),
        'val_cfg': dict(type='ValLoop'),
        'val_evaluator': [evaluator],
        'param_scheduler': [scheduler],
    }
    return json.loads(json.dumps(cfg))  # nothing is shared between keys


def change(cfg: dict, changes: Mapping[str, Any]) -> dict:
    """A copy of a config with other values at dotted paths."""
    cfg = copy.deepcopy(cfg)
    for path, value in changes.items():
        *parents, last = [
            int(part) if part.isdigit() else part
            for part in re.findall(r'[^.\[\]]+', path)
        ]
        place = cfg
        for part in parents:
            place = place[part]
        if value is DROP:
            place.pop(last, None)
        else:
            place[last] = value
    return cfg


def outcome(
    folder: Path, cfg: dict, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """Exit code and last words of ``tools/validate.py`` on a config."""
    number = next(_numbers)
    cfg = {**cfg, 'experiment_name': f'wrong_{number}'}
    path = folder / f'wrong_{number}.json'
    path.write_text(json.dumps(cfg))
    tool = load_script('validate.py')
    monkeypatch.setattr(sys, 'argv', ['validate.py', str(path)])
    monkeypatch.delenv('MMCAR_DEBUG', raising=False)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.run_tool(tool.main)
        except SystemExit as end:
            return int(end.code or 0), err.getvalue()
    return 0, out.getvalue()
