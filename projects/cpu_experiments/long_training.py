"""Train the paper's recipe long enough to be judged, and show the curve.

Each training is `tools/train.py CONFIG --resume` on one thread. Stop it when
you like: called again, it goes on from the last checkpoint, and the curve is
that of all parts together. The scores so far go to long_training.json beside
this file, and from there into plot and tables of long_training.md; the newest
checkpoints go to long_training/, from where a new work dir goes on.

Example::

    python projects/cpu_experiments/long_training.py --only lidc-shapes/long
    python projects/cpu_experiments/long_training.py --end lidc-shapes/long
    python projects/cpu_experiments/long_training.py --changes camvid/no_d
    python projects/cpu_experiments/long_training.py --curves
"""

import argparse
import json
from pathlib import Path
from typing import Any

from cpu_experiments.changes import (
    CHANGES,
    ITERATIONS,
    PAPER_RUN,
    change_table,
    collect_changes,
    experiments_of,
)
from cpu_experiments.long_page import TITLES, draw, table
from cpu_experiments.long_runs import (
    LINES,
    LONG_RUNS,
    SEED,
    LongRun,
    collect,
    score_bounds,
)
from cpu_experiments.long_states import end, hand_on, joined, take_over
from cpu_experiments.running import Experiments
from cpu_experiments.tables import fill_marks
from mmcar import cli
from mmcar.report.pictures import write_figure
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json
from projects.commit import current_commit
from run import PROJECT, ROOT

RECORD = PROJECT / 'long_training.json'
STATES = PROJECT / 'long_training'
PAGE = PROJECT / 'long_training.md'
PLOT = PROJECT / 'images' / 'long_training.png'


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--only',
        nargs='+',
        metavar='RUN',
        default=[run.key for run in LONG_RUNS],
        help='group/config, in the order to train (default: all)',
    )
    parser.add_argument(
        '--changes',
        nargs='+',
        metavar='CHANGE',
        help="in place of --only, the paper's recipe with one change: "
        f'group/change, {", ".join(change.name for change in CHANGES)}',
    )
    parser.add_argument(
        '--end',
        nargs='+',
        metavar='RUN',
        default=[],
        help='runs whose curve is flat: they end at their newest checkpoint',
    )
    parser.add_argument(
        '--curves',
        action='store_true',
        help='train nothing, write the page and hand on the checkpoints',
    )
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/experiments')
    )
    parser.add_argument('--debug', action='store_true')
    return parser.parse_args()


def pick(known: dict, name: str, option: str) -> Any:
    """What has this name, or an error that lists all names."""
    if name not in known:
        raise UserError(
            f'{option} {name}: there is no such run, expected some of '
            f'{", ".join(known)}.'
        )
    return known[name]


def select(names: list[str], option: str) -> list[LongRun]:
    """Runs by their names, in this order."""
    known = {run.key: run for run in LONG_RUNS}
    return [pick(known, name, option) for name in names]


def read_records() -> dict:
    """What is known of all runs so far."""
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}


def write_page(experiments: Experiments) -> None:
    """Add what the work dir has to the record; write plot and tables."""
    records = read_records()
    for name, found in collect(experiments).items():
        curve = 'iterations' in found
        records[name] = (
            joined(records.get(name, {}), found) if curve else found
        )
    records |= collect_changes(experiments.work_dir)
    for run in LONG_RUNS:
        hand_on(run, experiments, STATES)
    tables = {f'long {group}': table(records, group) for group in TITLES}
    tables |= {
        f'changes {group}': change_table(records, group)
        for group in ITERATIONS
    }
    page = fill_marks(PAGE.read_text(), tables)
    write_json(RECORD, records)
    write_figure(PLOT, draw(records))
    write_file(PAGE, page.encode())
    print(f'Written: {RECORD}, {PLOT}, {PAGE}')


def train_change(name: str, work_dir: Path, commit: str | None) -> None:
    """Train the paper's recipe with the change of this name."""
    known = {
        f'{group}/{change.name}': (group, change)
        for group in ITERATIONS
        for change in CHANGES
    }
    group, change = pick(known, name, '--changes')
    experiments = experiments_of(change, group, work_dir, commit)
    experiments.train(group, PAPER_RUN, SEED)


def main() -> None:
    """Train what is asked for, then write the page."""
    args = parse_args()
    runs = select(args.only, '--only')
    flat = select(args.end, '--end')
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    experiments = Experiments(args.work_dir, commit=current_commit(ROOT))
    for run in flat:
        end(run, experiments)
    for name in args.changes or ():
        train_change(name, args.work_dir, experiments.commit)
    if not (flat or args.changes or args.curves):
        groups = {run.group for run in runs}
        for row in LINES:
            if row.group in groups:
                experiments.test(row, SEED)
                score_bounds(row, experiments)
        records = read_records()
        for run in runs:
            take_over(run, experiments, STATES, records.get(run.key, {}))
            experiments.train(run.group, run.name, SEED)
    write_page(experiments)


if __name__ == '__main__':
    cli.run_tool(main)
