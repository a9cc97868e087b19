"""Run the Cityscapes experiment at real size, on drawn streets.

Draws a data set in Cityscapes' layout, trains a stock MMSeg model on it with
MMSeg's own tools, then runs the commands of docs/do/cityscapes24.md with it:
prepare, check, predict with the black box, train (killed once, and resumed),
test, draw. Prints and records what each step takes, in FOLDER/record.json.
What is finished is not run again; what was interrupted goes on. About an hour
on two idle cores; fewer iterations with --iterations.
"""

import argparse
import json
import os
import signal
from dataclasses import asdict
from pathlib import Path

from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json
from synthetic_cityscapes.configs import Iterations, write_configs
from synthetic_cityscapes.report import (
    broken_promises,
    cost_table,
    fill_page,
    score_lines,
)
from synthetic_cityscapes.steps import all_steps

PROJECT = Path(__file__).resolve().parent
# glibc reuses freed memory, as our own tools let it; MMSeg's do not ask.
MEMORY = dict(MALLOC_MMAP_MAX_='0', MALLOC_TRIM_THRESHOLD_=str(2**31 - 1))


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--folder', type=Path, default=Path('work_dirs/synthetic_cityscapes')
    )
    parser.add_argument(
        '--iterations',
        nargs=3,
        type=int,
        metavar=('B', 'F', 'G'),
        help='of the black box, of F, and of G with D (default: '
        f'{Iterations.black_box} {Iterations.calibration} '
        f'{Iterations.generator})',
    )
    parser.add_argument(
        '--readme',
        action='store_true',
        help="run nothing: keep FOLDER/record.json as the project's own, and "
        'write its table into README.md',
    )
    parser.add_argument('--debug', action='store_true')
    return parser.parse_args()


def open_record(path: Path, iterations: Iterations) -> dict:
    """What earlier runs have recorded in this folder."""
    if not path.is_file():
        return dict(iterations=asdict(iterations), steps={})
    record = json.loads(path.read_text())
    if record['iterations'] != asdict(iterations):
        raise UserError(
            f'{path} was begun with {record["iterations"]}, not '
            f'{asdict(iterations)}: ask for those, or choose another --folder.'
        )
    return record


def write_readme(record: Path) -> None:
    """Keep a record beside the README, and write its table into it."""
    if not record.is_file():
        raise UserError(f'There is no {record}: run the experiment first.')
    content = json.loads(record.read_text())
    write_json(PROJECT / 'record.json', content)
    page = fill_page((PROJECT / 'README.md').read_text(), content)
    write_file(PROJECT / 'README.md', page.encode())


def stop(*_: object) -> None:
    """End as by Ctrl-C, so that no command is left behind."""
    raise KeyboardInterrupt


def main() -> None:
    """Run the experiment."""
    args = parse_args()
    if args.readme:
        write_readme(args.folder / 'record.json')
        return
    signal.signal(signal.SIGTERM, stop)
    iterations = Iterations(*(args.iterations or ()))
    if min(asdict(iterations).values()) < 2:
        raise UserError('--iterations: expected at least 2 of each.')
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    record = open_record(folder / 'record.json', iterations)
    record['threads'] = os.environ.get('OMP_NUM_THREADS') or os.cpu_count()
    write_configs(folder, iterations)
    os.environ.update(MEMORY)
    for step in all_steps(iterations):
        if step.name in record['steps']:
            print(f'{step.name}: done before')
            continue
        print(f'{step.name}: {" ".join(map(str, step.command))}', flush=True)
        cost, found = step.run(folder)
        entry = dict(asdict(cost), disk_mb=step.size(folder), found=found)
        record['steps'][step.name] = entry
        write_json(folder / 'record.json', record)
    print(cost_table(record))
    print('\n'.join(score_lines(record)))
    if broken := broken_promises(record):
        raise UserError('; '.join(broken))


if __name__ == '__main__':
    cli.run_tool(main)
