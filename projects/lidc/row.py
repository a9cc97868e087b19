"""Train and test a row of the table on real CT, and print it.

Example::

    python projects/lidc/row.py free --seeds 3
    python projects/lidc/row.py free --seeds 3 --nodules

Each seed is a training by tools/train.py and a test by tools/test.py on one
thread. What is finished is not run again; what was interrupted goes on from
its last checkpoint. How far a training is stands in output.log of its folder,
WORK_DIR/<config>/seed<n>. Standard errors are by patient; those of several
seeds are of the mean over seeds.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from mmcar import cli
from mmcar.utils.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # for the runner of another project

from lidc.by_patient import (  # noqa: E402
    markdown,
    read_nodules,
    read_scores,
    summarise,
)
from lidc.rows import ROWS, LIDCRuns, find_row  # noqa: E402
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
    parser.add_argument('name', help=f'one of {", ".join(ROWS)}')
    parser.add_argument('--seeds', type=int, help='trainings')
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/lidc')
    )
    parser.add_argument(
        '--nodules',
        action='store_true',
        help='also by size of the nodule and by how many annotators marked it',
    )
    parser.add_argument(
        '--data-root', type=Path, default=Path('data/lidc_slices')
    )
    add_run_arguments(parser)
    cli.add_console_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Run what is missing of a row, then print it."""
    args = parse_args()
    row = find_row(args.name)
    seeds = row.seeds if args.seeds is None else args.seeds
    if seeds < 1:
        raise UserError(f'--seeds={seeds}: expected at least 1.')
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    runs = LIDCRuns(
        args.work_dir,
        args.cfg_options,
        args.test_options,
        args.keep_old,
        current_commit(ROOT),
    )
    for seed in range(seeds):
        runs.test(row, seed)
    per_seed = [read_scores(runs.tables(row, s)) for s in range(seeds)]
    scores = {
        image: {
            name: float(np.mean([found[image][name] for found in per_seed]))
            for name in per_seed[0][image]
        }
        for image in per_seed[0]
    }
    nodules = read_nodules(scores, args.data_root) if args.nodules else None
    print(
        f'{row.title}, {seeds} seeds\n\n{markdown(summarise(scores, nodules))}'
    )
    for seed in range(seeds):
        found = runs.whole_scores(row, seed)
        shown = ', '.join(
            f'{name} {value:.4g}' for name, value in found.items()
        )
        print(f'\nseed {seed}: {shown}')


if __name__ == '__main__':
    cli.run_tool(main)
