"""Train and score every method on every data set, on equal terms.

Settings are chosen on a fifth of the training images, then trained on all of
them with three seeds; test images are read once, at the end. What is finished
is not run again, what was interrupted goes on; several calls share the work.
`--page` adds what has run to the project's own results.json and writes the
page from it; what stands there is not run again in another work dir either.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import torch
from benchmark.methods import (
    CONTROLS,
    DIET_RATE,
    FEWER,
    FREE,
    METHODS,
    Setting,
    best_of,
)
from benchmark.page import write_page
from benchmark.refined import DIETS
from benchmark.rows import SEEDS
from benchmark.running import RESULT, Benchmark
from benchmark.tasks import TASKS, Task
from benchmark.training import log
from mmengine.registry import init_default_scope

import mmcar  # noqa: F401 (registers)
from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json
from projects.commit import current_commit

PROJECT = Path(__file__).resolve().parent
ROOT = PROJECT.parents[1]
RESULTS = PROJECT / 'results.json'
BUDGET = 30.0
FEWER_TASKS = ('bubil', 'camvid')  # where fewer, better samples are tried
Run = tuple[str, Setting, int]
"""Method, setting and seed."""


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--tasks',
        nargs='+',
        choices=TASKS,
        default=[name for name, task in TASKS.items() if not task.own_budget],
        help='data sets (default: those of the smoke test)',
    )
    parser.add_argument(
        '--methods', nargs='+', choices=METHODS, default=[*METHODS]
    )
    parser.add_argument('--seeds', type=int, default=SEEDS)
    parser.add_argument(
        '--budget',
        type=float,
        default=BUDGET,
        help='processor seconds of every training',
    )
    parser.add_argument(
        '--tuning-budget',
        type=float,
        help='the same, of those that choose settings (default: --budget)',
    )
    parser.add_argument(
        '--part',
        choices=('tune', 'all'),
        default='all',
        help='tune: only choose settings',
    )
    parser.add_argument(
        '--controls',
        action='store_true',
        help="only the paper's controls, one seed, with the setting of CAR",
    )
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/benchmark')
    )
    parser.add_argument(
        '--page', action='store_true', help='only write the page'
    )
    parser.add_argument(
        '--adversary',
        action='store_true',
        help='compare ways to train D in the recipe, on held-out training '
        'images',
    )
    parser.add_argument('--debug', action='store_true')
    return parser.parse_args()


def run_task(
    benchmark: Benchmark, name: str, args: argparse.Namespace
) -> None:
    """Choose settings of every method, then train and test the winners."""
    task = TASKS[name]
    methods = {m: METHODS[m] for m in args.methods if METHODS[m].fits(task)}
    first = [(m, s) for m in methods for s in methods[m].rates(task)]
    geds = tune(benchmark, task, first)
    second = [
        (m, s) for m in methods for s in methods[m].others(task, geds[m])
    ]
    for method, found in tune(benchmark, task, second).items():
        geds[method] |= found
    winners = {m: best_of(geds[m]) for m in methods}
    for method, setting in winners.items():
        log(f'{task.title}: {method} is best with {setting}')
    if args.part == 'tune':
        return
    # Seeds inside: those of a method share no training, so that several
    # processes need not wait for each other.
    chosen = [
        (method, setting, seed)
        for method, setting in winners.items()
        for seed in range(args.seeds)
    ]
    benchmark.bound(task)
    run_all(benchmark, task, chosen, 'final')
    if name in FEWER_TASKS and FREE in winners:
        fewer = [
            (way, winners[FREE], seed)
            for way in FEWER
            for seed in range(args.seeds)
        ]
        run_all(benchmark, task, fewer, 'fewer')


def run_controls(
    benchmark: Benchmark, name: str, args: argparse.Namespace
) -> None:
    """The paper's controls, with the best rate of CAR as in the paper."""
    task = TASKS[name]
    tried = [('car', s) for s in METHODS['car'].rates(task)]
    rate = best_of(tune(benchmark, task, tried)['car']).rate
    usual = Setting(METHODS['car'].variants[0], rate)
    runs = [(control, usual, 0) for control in CONTROLS]
    run_all(benchmark, task, runs, 'control')


def run_diets(
    benchmark: Benchmark, name: str, args: argparse.Namespace
) -> None:
    """The recipe with several diets of D, with every seed."""
    runs = [
        ('recipe', Setting(variant, DIET_RATE), seed)
        for variant in DIETS
        for seed in range(args.seeds)
    ]
    run_all(benchmark, TASKS[name], runs, 'diet')


def tune(
    benchmark: Benchmark, task: Task, tried: list[tuple[str, Setting]]
) -> dict[str, dict[Setting, float]]:
    """GED 16 of settings on held-out training images, by method."""
    runs = [(method, setting, 0) for method, setting in tried]
    geds: dict[str, dict[Setting, float]] = defaultdict(dict)
    found = run_all(benchmark, task, runs, 'tune')
    for (method, setting, _), record in found.items():
        geds[method][setting] = record['scores']['GED_16']
    return geds


def run_all(
    benchmark: Benchmark, task: Task, runs: list[Run], part: str
) -> dict[Run, dict]:
    """Do what no other process is doing; then wait for the others."""
    found = {}
    for wait in (False, True):
        for run in runs:
            if run not in found:
                record = benchmark.score(task, *run, part, wait)
                if record is not None:
                    found[run] = record
                    ged = record['scores']['GED_16']
                    log(f'{task.title}, {part}, {shown(run)}: {ged:.4f}')
    return found


def shown(run: Run) -> str:
    """A run in words."""
    method, setting, seed = run
    return f'{method}, {setting}, seed {seed}'


def known_records() -> list[dict]:
    """Records of the project, made wherever it ran."""
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else []


def collect(work_dir: Path) -> list[dict]:
    """All records, in a fixed order; those of the work dir are newer."""
    paths = work_dir.glob(f'*/*/*/{RESULT}')
    own = [json.loads(path.read_text()) for path in paths]
    records = {r['folder']: r for r in (*known_records(), *own)}
    return [records[folder] for folder in sorted(records)]


def main() -> None:
    """Run, or write the page."""
    args = parse_args()
    work_dir = args.work_dir.resolve()
    if not args.page:
        if Path.cwd() != ROOT:
            raise UserError(f'Run this from {ROOT}.')
        torch.set_num_threads(1)
        init_default_scope('mmseg')
        benchmark = Benchmark(
            work_dir,
            args.budget,
            current_commit(ROOT),
            args.tuning_budget,
            known_records(),
        )
        for name in args.tasks:
            run = run_diets if args.adversary else run_task
            run = run_controls if args.controls else run
            run(benchmark, name, args)
        return
    records = collect(work_dir)
    if not records:
        raise UserError(f'--page: there are no results in {work_dir}.')
    write_json(RESULTS, records)
    write_page(PROJECT / 'README.md', records)


if __name__ == '__main__':
    cli.run_tool(main)
