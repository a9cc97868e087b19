"""Write the paper's tables with its figures and ours.

Example::

    python projects/paper/tables.py work_dirs

Searches the folders for test_scores.json, which tools/test.py writes, and puts
each under its row of the paper by the name of its config; several tests of a
config, e.g. of three seeds, become mean and standard deviation. Tests whose
samples are not independent (Sobol noise) are left out: the paper's are. What
was not run stays empty; row.py runs a row. The CPU experiments, on other and
smaller data, are shown beside. --readme writes the tables into the project's
README.md.
"""

import argparse
from pathlib import Path

from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file
from paper.published import TABLES
from paper.tables import fill_page, read_scores, read_summary, table

PROJECT = Path(__file__).resolve().parent
PAGE = PROJECT / 'README.md'
SUMMARY = PROJECT.parent / 'cpu_experiments' / 'summary.json'


def main() -> None:
    """Write the tables, from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('work_dirs', type=Path, nargs='*')
    parser.add_argument('--readme', action='store_true')
    parser.add_argument('--debug', action='store_true')
    args = parser.parse_args()
    for folder in args.work_dirs:
        if not folder.is_dir():
            raise UserError(f'There is no folder {folder}.')
    ours, summary = read_scores(args.work_dirs), read_summary(SUMMARY)
    if args.readme:
        page = fill_page(PAGE.read_text(), ours, summary)
        write_file(PAGE, page.encode())
    for name in TABLES:
        print(f'{name}\n\n{table(name, ours, summary)}\n')


if __name__ == '__main__':
    cli.run_tool(main)
