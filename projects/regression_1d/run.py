"""The 1D regression experiment: what the calibration loss does for a GAN.

Trains every run at once, then writes figures, a CSV file and a table.
"""

import argparse
from pathlib import Path

from mmcar import cli
from regression_1d import run_experiment


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--out', type=Path, required=True, help='folder for the results'
    )
    parser.add_argument(
        '--quick', action='store_true', help='a reduced grid, in seconds'
    )
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--notebook',
        action='store_true',
        help="as in the authors' notebook: 64 units, L_adv and L_cal through "
        'all samples, D updated first, ReLUs in F',
    )
    parser.add_argument(
        '--compare-sequential',
        type=int,
        default=0,
        metavar='N',
        help='also time N runs trained one after the other, each for a tenth '
        'of the iterations',
    )
    cli.add_console_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Run the experiment."""
    args = parse_args()
    run_experiment(
        args.out,
        args.quick,
        args.seed,
        args.compare_sequential,
        args.notebook,
    )


if __name__ == '__main__':
    cli.run_tool(main)
