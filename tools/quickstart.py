"""From nothing to plots in minutes: data, training, test, bounds.

Every step is one of the other tools; what a step has left is used again, so
a second run only prints the results. Delete the work dir to start over.
"""

import argparse
import json
import runpy
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

from mmengine.config import Config

from mmcar import cli
from mmcar.utils.errors import UserError

ROOT = Path(__file__).parents[1]
CONFIG = Path('configs/quickstart/car_lidc-shapes.py')
DATA = Path('data/lidc_shapes')
WORK_DIR = Path('work_dirs/quickstart')
FIGURES = WORK_DIR / 'figures'
PATIENTS = 150
SCORES = ('GED_16', 'HM-IoU_16', 'ECE', 'flood_rate_16')


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_console_arguments(parser)
    return parser.parse_args()


def run_step(title: str, result: Path, *command: object) -> None:
    """Run a tool unless its result is there.

    Args:
        title: What the step does, for the user.
        result: File that exists once the step is done.
        command: Tool and arguments, relative to the repository.
    """
    if result.exists():
        print(f'== {title}: done before ({result})', flush=True)
        return
    print(f'== {title}: {" ".join(map(str, command))}', flush=True)
    start = time.monotonic()
    shown = [flag for flag in ('--verbose', '--debug') if flag in sys.argv]
    if code := run_script([*map(str, command), *shown]):
        sys.exit(code)
    print(f'== {title}: {time.monotonic() - start:.0f} s', flush=True)


def run_script(command: list[str]) -> int | None:
    """Run a tool in a process of its own.

    On Linux the process is a copy of this one: to import everything anew
    takes longer than some of the tools.

    Args:
        command: Script and arguments.

    Returns:
        Its exit code.
    """
    if sys.platform != 'linux':
        return subprocess.run([sys.executable, *command]).returncode
    process = get_context('fork').Process(target=as_main, args=(command,))
    process.start()
    process.join()
    return process.exitcode


def as_main(command: list[str]) -> None:
    """Do what ``python`` does with a script and its arguments."""
    sys.argv = command
    runpy.run_path(command[0], run_name='__main__')


def make_data() -> None:
    """Convert the annotators' outlines; go on with a folder that was begun."""
    settings, done = DATA / 'settings.json', DATA / 'complete'
    patients = PATIENTS
    if settings.is_file():
        patients = json.loads(settings.read_text())['patients']
    converter = 'tools/dataset_converters/lidc_shapes.py'
    run_step('Data', done, converter, DATA, '--patients', patients)
    done.touch()


def train_and_test() -> None:
    """Train in two stages, test and draw, score simple samplers."""
    phases = Config.fromfile(CONFIG).train_cfg.phases
    last = WORK_DIR / f'iter_{sum(phase.iters for phase in phases)}.pth'
    work_dir = ('--work-dir', WORK_DIR)
    train = ('tools/train.py', CONFIG, *work_dir, '--resume')
    run_step('Training', last, *train)
    test = ('tools/test.py', CONFIG, last, *work_dir)
    test += ('--eval', 'GED', 'HM-IoU', 'ECE', 'flood-rate')
    test += ('--figures', FIGURES)
    run_step('Test', WORK_DIR / 'test_scores.json', *test)
    bounds = WORK_DIR / 'bounds.json'
    tool = 'tools/analysis_tools/bounds.py'
    run_step('Bounds', bounds, tool, CONFIG, '--json', bounds)


def results_table() -> str:
    """Put the model's scores beside those of simple samplers."""
    test = json.loads((WORK_DIR / 'test_scores.json').read_text())
    bounds = json.loads((WORK_DIR / 'bounds.json').read_text())
    rows = {'this model': test['scores'], **bounds['scores']}
    table = [['16 samples', *SCORES]]
    for name, scores in rows.items():
        cells = [scores.get(score) for score in SCORES]
        cells = ['' if cell is None else f'{cell:.3f}' for cell in cells]
        table.append([name, *cells])
    return cli.format_table(table)


def main() -> None:
    """Run all steps, then print the results."""
    parse_args()
    if Path.cwd() != ROOT:
        raise UserError(f'Run this from {ROOT}.')
    make_data()
    train_and_test()
    print('\nThe rows below the first know the labels of the test images:')
    print(results_table())
    print('Larger is better for HM-IoU, smaller for all others. Plots:')
    for path in sorted(FIGURES.glob('*.png')):
        print(f'  {path}')


if __name__ == '__main__':
    cli.run_tool(main)
