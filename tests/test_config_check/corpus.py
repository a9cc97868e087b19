"""Right and wrong configs as data: read, changed and put to the check.

``python -m tests.test_config_check.corpus FILE`` says how many wrong configs
of a file are found, and which are not; see ``wrong.jsonl`` for its form.
"""

import argparse
import copy
import itertools
import json
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mmcar.apis import training
from mmcar.compat.configs import read_config
from mmcar.config_check import ConfigError, Finding, Plan, check_config
from mmcar.utils.errors import UserError
from tests.test_config_check import bases

HERE = Path(__file__).parent
PATIENCE = 300  # seconds; what takes longer hangs
_numbers = itertools.count()


def read_corpus(path: Path) -> list[dict[str, Any]]:
    """The cases of a file, a JSON dict in each line."""
    lines = [x for x in path.read_text().splitlines() if x.startswith('{')]
    return [{'base': 'small', 'change': {}, **json.loads(x)} for x in lines]


def changed(cfg: dict, case: dict, folder: Path) -> dict:
    """A copy of a base with what a case takes out and sets."""
    base, cfg = cfg, copy.deepcopy(cfg)
    for path in case.get('drop', ()):
        *above, last = _keys(path)
        _at(cfg, above).pop(last, None)
    for path, value in case['change'].items():
        *above, last = _keys(path)
        _at(cfg, above)[last] = _filled(value, base, folder)
    return cfg


def _keys(path: str) -> list[Any]:
    found = re.findall(r'[^.\[\]]+', path)
    return [int(key) if key.isdigit() else key for key in found]


def _at(cfg: Any, keys: list[Any]) -> Any:
    for key in keys:
        cfg = cfg[key]
    return cfg


def _filled(value: Any, base: dict, folder: Path) -> Any:
    """A value with the base's own where it says so."""
    if isinstance(value, dict):
        return {k: _filled(v, base, folder) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(v, base, folder) for v in value]
    if isinstance(value, str) and value.startswith('='):
        return copy.deepcopy(_at(base, _keys(value[1:])))
    if isinstance(value, str):
        return value.replace('{folder}', str(folder))
    return value


def inherited(cfg: Any) -> Any:
    """A config as MMEngine reads it from a ``mmseg::`` base."""
    if isinstance(cfg, dict) and 'type' in cfg:
        return {**copy.deepcopy(cfg), '_scope_': 'mmseg'}
    if isinstance(cfg, dict):
        return {key: inherited(value) for key, value in cfg.items()}
    return [*map(inherited, cfg)] if isinstance(cfg, list) else cfg


def named(case: dict, found: Iterable[Finding]) -> Iterator[Finding]:
    """Findings that name a place of a case: its path, part or key."""
    paths = [*case['change'], *case.get('drop', ()), case.get('path')]
    for finding in found:
        where, text = finding.path, f'{finding.path} {finding.text}'
        for path in filter(None, paths):
            key = re.findall(r'[a-zA-Z_]\w*', path)[-1]
            part = where == path.rpartition('.')[0] or where.startswith(path)
            if (where and part) or re.search(rf'\b{key}\b', text):
                yield finding
                break


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


def found_in_file(cfg: dict, folder: Path) -> list[Finding]:
    """The same of a config that is read from a file."""
    path = folder / f'wrong_{next(_numbers)}.json'
    path.write_text(json.dumps(cfg))
    try:
        read = read_config(path)
    except UserError as error:
        return [Finding('', str(error), 'read', True)]
    return found_by_trying(read.to_dict(), folder)


def outcome(case: dict, folder: Path, on_mmseg: bool = False) -> str:
    """Whether a case is refused, told of or missed, by a word on the place."""
    folder.mkdir(exist_ok=True)
    cfg = getattr(bases, case['base'])(folder, **case.get('with', {}))
    cfg = inherited(cfg) if on_mmseg else cfg
    found = found_in_file(changed(cfg, case, folder), folder)
    levels = {finding.sure for finding in named(case, found)}
    return 'refused' if True in levels else 'told' if levels else 'missed'


def try_all(path: Path, on_mmseg: bool = False) -> Counter[str]:
    """Count the outcomes of a file's cases; print what is not refused."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f'no answer after {PATIENCE} s')

    signal.signal(signal.SIGALRM, give_up)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for index, case in enumerate(read_corpus(path)):
            signal.alarm(PATIENCE)
            try:
                found = outcome(case, Path(folder, str(index)), on_mmseg)
            except Exception as error:
                found = f'crashed: {error!r}'[:100]
            signal.alarm(0)
            outcomes[found.partition(':')[0]] += 1
            if found != 'refused':
                print(f'{found}: {json.dumps(case)}', flush=True)
    shares = {k: f'{n / outcomes.total():.1%}' for k, n in outcomes.items()}
    print(f'{outcomes.total()} cases: {shares}')
    return outcomes


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file', type=Path)
    parser.add_argument(
        '--on-mmseg', action='store_true', help='as inherited from mmseg::'
    )
    args = parser.parse_args()
    try_all(args.file, args.on_mmseg)
