"""Time parts of mmcar against plain versions of them, in one run.

Each subcommand is a module of ``speed/`` with ``add_arguments(parser)``
and ``run(args) -> list[dict]``, the rows of its table. ``all`` runs every one
in a process of its own, loading by the quickstart's images, and writes
README.md, with what is expected of the figures and whether it holds.
What it cannot run, for want of a checkout or of images, it leaves out and says
so.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from mmengine.config import Config

from mmcar.cli import keep_freed_memory
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json
from speed import (
    baseline,
    costs,
    data,
    memory,
    metrics,
    runs,
    sampling,
    scaling,
    testing,
    training,
)
from speed.bars import bar_rows
from speed.timing import current_commit, machine

SUBCOMMANDS = {
    'baseline': baseline,
    'costs': costs,
    'data': data,
    'memory': memory,
    'metrics': metrics,
    'runs': runs,
    'sampling': sampling,
    'scaling': scaling,
    'test': testing,
    'training': training,
}
REPEATED = (
    'baseline',
    'metrics',
    'runs',
    'sampling',
    'scaling',
    'test',
    'training',
)
UNTIMED = ('all', 'costs', 'memory')
"""Commands in which no time is taken by this process or its forks."""
ROOT = Path(__file__).resolve().parents[2]
PAGE = Path(__file__).with_name('README.md')
INTRO = PAGE.with_name('intro.txt')
QUICKSTART = ROOT / 'configs/quickstart/car_lidc-shapes.py'


def table(rows: list[dict]) -> str:
    """Rows as a Markdown table."""
    keys = [key for key in rows[0] if not isinstance(rows[0][key], list)]

    def cell(value: object) -> str:
        if isinstance(value, float):
            # 0.99999 is not 1
            return f'{value:.3g}' if not 0.999 < value < 1 else f'{value:.7g}'
        return '' if value is None else str(value)

    lines = [keys, ['---'] * len(keys)]
    lines += [[cell(row[key]) for key in keys] for row in rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def page(
    tables: dict[str, list[dict]], bars: list[dict], facts: dict[str, object]
) -> str:
    """The page of all tables and bars, and what figures depend on."""
    known = ', '.join(f'{key} {value}' for key, value in facts.items())
    parts = [
        f'# Speed\n\n{INTRO.read_text()}\nSeconds are processor seconds, '
        'medians of turns in which all versions take part; `times_ours` is '
        'the ratio to ours in the same run. Versions that are not ours are '
        'plain implementations of our own of how others do it. Written by '
        f'`python projects/speed/run.py all`: {known}.'
    ]
    if bars:
        met = sum(row['met'] == 'yes' for row in bars)
        parts.append(
            f'## Goals\n\nWhat should hold, and whether it does in this run: '
            f'{met} of {len(bars)}.\n\n{table(bars)}'
        )
    for name, rows in tables.items():
        doc = SUBCOMMANDS[name].__doc__.strip()
        parts.append(f'## {name.capitalize()}\n\n{doc}\n\n{table(rows)}')
    return '\n\n'.join(parts) + '\n'


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    everything = commands.add_parser('all', help='all of them, and the page')
    for name, module in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=module.__doc__.split('\n')[0])
        command.add_argument('--json', help='write the rows to this file')
        module.add_arguments(command)
    everything.add_argument('--json', help='write the rows to this file')
    everything.add_argument(
        '--out', type=Path, default=PAGE, help='the page to write'
    )
    everything.add_argument(
        '--repeats', type=int, help='turns of every comparison'
    )
    everything.add_argument(
        '--baseline', help='anearlier version to compare with'
    )
    everything.add_argument(
        '--checkpoint', help='a trained quickstart, for that comparison'
    )
    return parser.parse_args()


def why_not(name: str, args: argparse.Namespace) -> str | None:
    """Why ``all`` cannot run a subcommand, if it cannot."""
    if name == 'baseline' and not args.baseline:
        return 'no --baseline is given'
    if name == 'data':
        loader = Config.fromfile(QUICKSTART).train_dataloader
        root = Path(loader.dataset.data_root)
        return None if root.is_dir() else f'there is no {root}'
    return None


def run_apart(name: str, args: argparse.Namespace) -> list[dict]:
    """The rows of a subcommand that runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'rows.json'
        command = [sys.executable, __file__, name, '--json', file]
        if name == 'data':
            command.append(QUICKSTART)
        if args.repeats and name in REPEATED:
            command += ['--repeats', args.repeats]
        if name == 'baseline':
            command += ['--baseline', args.baseline]
            if args.checkpoint:
                command += ['--checkpoint', args.checkpoint]
        subprocess.run([*map(str, command)], check=True)
        return json.loads(file.read_text())['tables'][name]


def main() -> None:
    """Run a subcommand, print its rows, write them to a file if asked."""
    args = parse_args()
    if args.command != 'data':  # which trains as its users do
        torch.set_num_threads(1)
    if args.command not in UNTIMED:
        keep_freed_memory()  # as every tool does; peaks of memory would grow
    tables, bars = {}, []
    found = machine()
    if args.command == 'all':
        for name in SUBCOMMANDS:
            if reason := why_not(name, args):
                print(f'{name}: left out, {reason}', flush=True)
            else:
                tables[name] = run_apart(name, args)
        bars = bar_rows(tables)
        if args.baseline:
            commit = current_commit(Path(args.baseline)) or 'not known'
            found |= {"earlier version's commit": commit}
        write_file(args.out, page(tables, bars, found).encode())
    else:
        print(args.command, flush=True)
        tables[args.command] = SUBCOMMANDS[args.command].run(args)
    if args.json:
        result = dict(machine=found, bars=bars, tables=tables)
        write_json(args.json, result)


if __name__ == '__main__':
    try:
        main()  # not by run_tool, which changes how all commands free memory
    except UserError as error:
        sys.exit(f'run.py: error: {error}')
