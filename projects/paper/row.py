"""Train and test a row of the paper's tables, and print it.

Example::

    python projects/paper/row.py car_lidc

Each seed is a training by tools/train.py and a test by tools/test.py, with as
many samples as the table shows. What is finished is not run again; what was
interrupted goes on from its last checkpoint. How far a training is stands in
output.log of its folder, WORK_DIR/<name>/seed<n>.
"""

import argparse
import sys
from pathlib import Path

from mmcar import cli
from mmcar.utils.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # for the runner of another project

from paper.rows import PaperRuns, find_row  # noqa: E402
from paper.tables import read_scores, table  # noqa: E402
from projects.commit import current_commit  # noqa: E402
from projects.cpu_experiments.cpu_experiments.running import (  # noqa: E402
    add_run_arguments,
)


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('name', help='config in configs/car, without .py')
    parser.add_argument(
        '--seeds', type=int, default=3, help='trainings (default: 3)'
    )
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/paper')
    )
    add_run_arguments(parser)
    cli.add_console_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Run what is missing of a row, then print it."""
    args = parse_args()
    title, row = find_row(args.name)
    if args.seeds < 1:
        raise UserError(f'--seeds={args.seeds}: expected at least 1.')
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    runs = PaperRuns(
        args.work_dir,
        args.cfg_options,
        args.test_options,
        args.keep_old,
        current_commit(ROOT),
    )
    for seed in range(args.seeds):
        runs.test(row, seed)
    ours = read_scores([args.work_dir / row.name])
    print(f'{title}\n\n{table(title, ours, {}, row.name)}')


if __name__ == '__main__':
    cli.run_tool(main)
