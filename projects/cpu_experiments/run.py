"""Run the CPU-scale experiments and tabulate them.

Each training is `tools/train.py CONFIG`, each score `tools/test.py CONFIG`,
one thread each, two side by side. What is finished is not run again; what was
interrupted goes on from its last checkpoint. Results: one folder per run below
--work-dir, and tables of all that is finished in summary.md and summary.json
there. `--tables` runs nothing and writes the tables of the results page.
"""

import argparse
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from cpu_experiments.running import (
    Experiments,
    add_run_arguments,
    order_runs,
)
from cpu_experiments.suite import SUITE, Row
from cpu_experiments.summary import read_summary, summarise
from cpu_experiments.tables import all_tables, write_page
from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json
from projects.commit import current_commit

PROJECT = Path(__file__).resolve().parent
ROOT = PROJECT.parents[1]
SUMMARY, PAGE = PROJECT / 'summary.json', PROJECT / 'README.md'


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--only',
        nargs='+',
        metavar='ROW',
        help='group/config, e.g. camvid/recipe, or a group (default: all)',
    )
    parser.add_argument('--jobs', type=int, default=2, help='side by side')
    parser.add_argument('--seeds', type=int, help='at most this many')
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/experiments')
    )
    add_run_arguments(parser)
    parser.add_argument(
        '--tables',
        nargs='*',
        type=Path,
        metavar='SUMMARY',
        help="write the results page's tables from the project's own "
        "summary.json, whose rows those of SUMMARY, a work dir's "
        'summary.json, replace first',
    )
    cli.add_console_arguments(parser)
    return parser.parse_args()


def write_tables(new: list[Path]) -> None:
    """Replace rows of the project's summary, then write the page's tables."""
    summary = read_summary(SUMMARY)
    for path in new:
        summary |= read_summary(path)
    write_page(PAGE, summary)
    if new:
        write_json(SUMMARY, summary)
    print(f'Written: {PAGE}')


def select(names: list[str] | None) -> list[Row]:
    """Rows of the suite that `--only` names."""
    rows = [
        row
        for row in SUITE
        if not names or {row.group, f'{row.group}/{row.name}'} & set(names)
    ]
    if not rows:
        known = sorted({f'{row.group}/{row.name}' for row in SUITE})
        raise UserError(f'--only matches nothing of {", ".join(known)}.')
    return rows


def main() -> None:
    """Run what is asked for and write the summary."""
    args = parse_args()
    if args.tables is not None:
        write_tables(args.tables)
        return
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    experiments = Experiments(
        args.work_dir,
        args.cfg_options,
        args.test_options,
        args.keep_old,
        current_commit(ROOT),
    )
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = [
            pool.submit(experiments.test, *run)
            for run in order_runs(select(args.only), args.seeds)
        ]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            pool.shutdown(cancel_futures=True)
        for future in futures:
            future.result()
    summary = summarise(SUITE, experiments)
    tables = all_tables(summary).items()
    text = '\n\n'.join(
        f'## {name}\n\n{table}'
        for name, table in tables
        if len(table.splitlines()) > 2  # more than a head
    )
    write_file(args.work_dir / 'summary.md', f'{text}\n'.encode())
    write_json(args.work_dir / 'summary.json', summary)
    print(text)


if __name__ == '__main__':
    cli.run_tool(main)
