"""Train and test a row of the class-flip experiment on ESPNet, and print it.

Example::

    python projects/espnet/row.py free --seeds 3

Each seed is a training by tools/train.py and a test by tools/test.py on one
thread; what is finished is not run again. ESPNet predicts every image once.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from mmcar import cli
from mmcar.utils.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # for the runner of another project

from espnet.rows import ROWS, TABLE, ESPNetRuns  # noqa: E402
from projects.commit import current_commit  # noqa: E402
from projects.cpu_experiments.cpu_experiments.running import (  # noqa: E402
    ENDED,
    add_run_arguments,
)
from projects.cpu_experiments.cpu_experiments.summary import (  # noqa: E402
    load_scores,
    record,
)
from projects.cpu_experiments.cpu_experiments.tables import (  # noqa: E402
    score_table,
)


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('name', choices=ROWS)
    parser.add_argument('--seeds', type=int, default=3, help='trainings')
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/espnet')
    )
    add_run_arguments(parser)
    cli.add_console_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Run what is missing of a row, then print it."""
    args = parse_args()
    if args.seeds < 1:
        raise UserError(f'--seeds={args.seeds}: expected at least 1.')
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    runs = ESPNetRuns(
        args.work_dir,
        args.cfg_options,
        args.test_options,
        args.keep_old,
        current_commit(ROOT),
    )
    row = ROWS[args.name]
    minutes = []
    for seed in range(args.seeds):
        runs.test(row, seed)
        if row.weights is not None:
            trained = runs.folder('', row.weights, seed) / ENDED
            minutes.append(json.loads(trained.read_text())['minutes'])
    found = record(load_scores(row, runs))
    found |= dict(minutes=statistics.mean(minutes)) if minutes else {}
    print(score_table(TABLE, {row.key: found}))


if __name__ == '__main__':
    cli.run_tool(main)
