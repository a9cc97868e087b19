"""Changing a config at dotted paths, and putting it through the check."""

import copy
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mmcar import cli
from mmcar.apis import training
from mmcar.config_check import ConfigError, Finding, Plan, check_config
from mmcar.utils.errors import UserError

DROP = object()
_numbers = itertools.count()


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
            place[last] = value(place[last]) if callable(value) else value
    return cfg


def names(finding: Finding, paths: Iterable[str]) -> bool:
    """Whether a finding names a setting: its path, its part or its key."""
    for path in paths:
        key = re.findall(r'[a-zA-Z_]\w*', path)[-1]
        if finding.path and (
            finding.path.startswith(path)
            or finding.path == path.rpartition('.')[0]
        ):
            return True
        if re.search(rf'\b{key}\b', f'{finding.path} {finding.text}'):
            return True
    return False


def found_by_walk(cfg: dict) -> list[Finding]:
    """What is found before anything is built."""
    return check_config(Config(cfg))


def found_by_trying(cfg: dict, folder: Path) -> list[Finding]:
    """What ``tools/validate.py`` finds; any other exception is raised."""
    name = f'tried_{next(_numbers)}'
    work_dir = str(folder / 'work_dir')
    cfg = Config({'work_dir': work_dir, **cfg, 'experiment_name': name})
    plan = Plan()
    try:
        training.dry_run(cfg, plan=plan)
    except ConfigError as error:
        return list(error.findings)
    return plan.warnings


def found_by_tool(cfg: dict, folder: Path) -> list[Finding]:
    """The same of a config that is read from a file."""
    path = folder / f'wrong_{next(_numbers)}.json'
    path.write_text(json.dumps(cfg))
    try:
        read = cli.read_config(str(path))
    except UserError as error:
        return [Finding('', str(error), 'read', True)]
    return found_by_trying(read.to_dict(), folder)
