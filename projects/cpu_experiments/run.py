"""Run the CPU-scale experiments and tabulate them.

Each training is `tools/train.py CONFIG`, each score `tools/test.py CONFIG`,
one thread each, two side by side. What is finished is not run again; what was
interrupted goes on from its last checkpoint. Results: one folder per run below
--work-dir, and tables of all that is finished in summary.md and summary.json
there.
"""

import argparse
import fcntl
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from mmengine.config import Config

from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

CONFIGS = Path('projects/cpu_experiments/configs')
NORMAL = 'model.decode_head.noise.type=NormalNoise'
SOBOL = 'model.decode_head.noise.type=SobolNoise'
# These runs are short: a crash should cost little of them.
OFTEN = 'default_hooks.checkpoint.interval=200'
# Scores of the tables and their headings; a group shows those that it has.
COLUMNS = {
    'GED_16': 'GED 16',
    'GED_50': 'GED 50',
    'GED_100': 'GED 100',
    'HM-IoU_16': 'HM-IoU 16',
    'diversity_16': "E d(s, s')",
    'ECE': 'ECE of F',
    'offset/mean': 'offset of F',
    'offset_samples/mean': 'offset of samples',
    'flip_error': 'flip error',
    'flip_correlation': 'correlation',
    'flip_coherence': 'coherence',
}
# Trainings that take over F from another one, whose config is named.
F_FROM = {
    'lidc-shapes/ct': 'ct_recipe',
    'lidc-shapes/ct_tuned': 'ct_recipe',
    'lidc-shapes/ct_cvae-gan': 'ct_recipe',
    'lidc-shapes/ct_cvae-gan-cal': 'ct_recipe',
    'camvid/recipe': 'calibration',
    'camvid/faithful': 'calibration',
    'camvid/cgan-ce': 'calibration',
    'bubil/recipe': 'calibration',
    'bubil/faithful': 'calibration',
}
TRAINING_FREE = ('GumbelSampler', 'IndependentPixelSampler', 'ArgmaxSampler')
BUFFERS = ('running_mean', 'running_var', 'num_batches_tracked')


@dataclass(frozen=True)
class Row:
    """A row of a table: a model, how it is trained and how it is tested.

    Attributes:
        group: Folder of the config, and the table.
        name: Config in that folder.
        weights: Config whose checkpoint is tested; None: there is none.
        seeds: Number of seeds.
        options: Config options of the test.
        label: What the row is called, if not like its config.
    """

    group: str
    name: str
    weights: str | None
    seeds: int = 3
    options: tuple[str, ...] = (NORMAL,)
    label: str = ''

    @property
    def title(self) -> str:
        """What the row is called."""
        return self.label or self.name


def both_noises(
    group: str, name: str, weights: str | None, seeds: int = 3
) -> list[Row]:
    """A row with independent noise and one with low-discrepancy noise."""
    return [
        Row(group, name, weights, seeds),
        Row(group, name, weights, seeds, (SOBOL,), f'{name}, Sobol noise'),
    ]


SUITE = [
    *both_noises('lidc-shapes', 'control_gumbel', None),
    *both_noises('lidc-shapes', 'control_recipe', 'control_recipe'),
    *both_noises('lidc-shapes', 'control', 'control'),
    Row('lidc-shapes', 'control_m5', 'control_m5', 1),
    Row('lidc-shapes', 'control_m1', 'control_m1'),
    Row('lidc-shapes', 'control_cgan-ce', 'control_cgan-ce'),
    *both_noises('camvid', 'control_gumbel', None),
    *both_noises('camvid', 'control_recipe', 'control_recipe'),
    Row('camvid', 'control', 'control', 1),
    Row('camvid', 'perfect-flips', None),
    *both_noises('camvid', 'recipe', 'recipe'),
    *both_noises('camvid', 'gumbel', 'calibration'),
    Row('camvid', 'independent', 'calibration'),
    Row('camvid', 'argmax', 'calibration'),
    Row('camvid', 'faithful', 'faithful', 1),
    Row('camvid', 'cgan-ce', 'cgan-ce'),
    *both_noises('bubil', 'recipe', 'recipe'),
    *both_noises('bubil', 'recipe_softer', 'recipe'),
    *both_noises('bubil', 'start', 'calibration'),
    *both_noises('bubil', 'gumbel', 'calibration'),
    Row('bubil', 'independent', 'calibration'),
    Row('bubil', 'argmax', 'calibration'),
    Row('bubil', 'faithful', 'faithful', 1),
    *both_noises('lidc-shapes', 'ct_recipe', 'ct_recipe', 1),
    *both_noises('lidc-shapes', 'ct_gumbel', 'ct_recipe', 1),
    *both_noises('lidc-shapes', 'ct_tuned', 'ct_tuned', 1),
    Row('lidc-shapes', 'ct', 'ct', 1),
    Row('lidc-shapes', 'ct_cvae-gan-cal', 'ct_cvae-gan-cal', 1),
    Row('lidc-shapes', 'ct_cvae-gan', 'ct_cvae-gan', 1),
]


def parts_from_f(config: Path) -> list[str]:
    """Parts of the head that start from the weights of a trained F."""
    head = Config.fromfile(config).model.decode_head
    own_net = ['generator.net'] if 'net' in head.generator else []
    return ['calibration', *own_net]


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Keep other threads and processes out of a folder.

    Yields:
        The lock's file descriptor: it stays locked while any process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / 'lock', 'w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f'Waiting for what runs in {folder}')
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


class Experiments:
    """Runs rows, each training and each test once.

    Args:
        work_dir: Folder of all results.
        cfg_options: Config options of every training.
    """

    def __init__(self, work_dir: Path, cfg_options: list[str]) -> None:
        self.work_dir = work_dir
        self.cfg_options = cfg_options

    def folder(self, group: str, name: str, seed: int) -> Path:
        """Folder of one training."""
        return self.work_dir / group / name / f'seed{seed}'

    def train(self, group: str, name: str, seed: int) -> Path:
        """Train unless done; the last checkpoint."""
        folder = self.folder(group, name, seed)
        with locked(folder) as lock:
            done = folder / 'trained.json'
            if not done.is_file():
                options = [f'randomness.seed={seed}', OFTEN]
                options += self.cfg_options
                config = CONFIGS / group / f'{name}.py'
                if source := F_FROM.get(f'{group}/{name}'):
                    path = self.train(group, source, seed)
                    options += [
                        f'model.decode_head.{part}.init_cfg.checkpoint={path}'
                        for part in parts_from_f(config)
                    ]
                seconds = self._call(
                    'train.py', config, folder, ['--resume'], options, lock
                )
                last = Path((folder / 'last_checkpoint').read_text().strip())
                report = dict(checkpoint=str(last), minutes=seconds / 60)
                write_json(done, report)
            return Path(json.loads(done.read_text())['checkpoint'])

    def scores_file(self, row: Row, seed: int) -> Path:
        """Where the scores of a row for one seed are written."""
        noise = 'sobol' if SOBOL in row.options else 'normal'
        folder = self.folder(row.group, row.name, seed)
        return folder / f'test_{noise}' / 'test_scores.json'

    def test(self, row: Row, seed: int) -> None:
        """Score a row for one seed, unless that is done."""
        if row.group == 'camvid' and 'control' not in row.name:
            self.black_box()
        checkpoint = []
        if row.weights is not None:
            checkpoint = [str(self.train(row.group, row.weights, seed))]
        scores = self.scores_file(row, seed)
        folder = scores.parent
        with locked(folder) as lock:
            if not scores.is_file():
                counts = '(16,50,100)'
                options = [
                    *row.options,
                    'model.test_cfg.num_samples=100',
                    f'model.test_cfg.seed={seed}',
                    f'test_evaluator.0.num_samples={counts}',
                ]
                self._call(
                    'test.py',
                    CONFIGS / row.group / f'{row.name}.py',
                    folder,
                    checkpoint,
                    options,
                    lock,
                )

    def black_box(self) -> None:
        """Train CamVid's black box, where its configs look for it."""
        folder = self.work_dir / 'camvid' / 'black_box'
        with locked(folder) as lock:
            if not (folder / 'last_checkpoint').is_file():
                config = CONFIGS / 'camvid' / 'black_box.py'
                self._call('train.py', config, folder, [], [], lock)

    def _call(
        self,
        tool: str,
        config: Path,
        folder: Path,
        arguments: list[str],
        options: list[str],
        lock: int,
    ) -> float:
        """Run a tool on one thread; the seconds of processor time it took.

        Unlike time on the clock, they do not depend on what else runs. The
        tool holds the lock of its folder too, lest it outlives this process.
        """
        command = [sys.executable, f'tools/{tool}', str(config), *arguments]
        command += ['--work-dir', str(folder)]
        if options:
            command += ['--cfg-options', *options]
        print(f'{time.strftime("%H:%M:%S")}  {" ".join(command[1:])}')
        log = folder / 'output.log'
        environment = {**os.environ, 'OMP_NUM_THREADS': '1'}
        with open(log, 'a') as file:
            process = subprocess.Popen(
                command,
                stdout=file,
                stderr=file,
                env=environment,
                pass_fds=(lock,),
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise UserError(f'{config} failed: see the end of {log}.')
        return usage.ru_utime + usage.ru_stime


def order_runs(rows: list[Row], max_seeds: int | None) -> list[tuple]:
    """Pairs of row and seed: first one per training, lest two wait for it."""
    first, later, trainings = [], [], set()
    for row in rows:
        for seed in range(min(row.seeds, max_seeds or row.seeds)):
            training = (row.group, row.weights, seed)
            known = row.weights is not None and training in trainings
            (later if known else first).append((row, seed))
            trainings.add(training)
    return first + later


def load_scores(rows: list[Row], experiments: Experiments) -> dict:
    """Scores of every test that has run, (row, seed) -> score -> value."""
    found = {}
    for row in rows:
        for seed in range(row.seeds):
            path = experiments.scores_file(row, seed)
            if path.is_file():
                found[row, seed] = json.loads(path.read_text())['scores']
    return found


def summarise(scores: dict, work_dir: Path) -> str:
    """A markdown table per group: mean and spread over seeds.

    Args:
        scores: What `load_scores` returns.
        work_dir: Folder of all results.
    """
    runs: dict[Row, list[dict]] = {}
    for (row, _), values in scores.items():
        runs.setdefault(row, []).append(values)
    text = []
    for group in dict.fromkeys(row.group for row in runs):
        own = {row: found for row, found in runs.items() if row.group == group}
        shown = {
            key: heading
            for key, heading in COLUMNS.items()
            if any(key in run for found in own.values() for run in found)
        }
        heads = ['row', *shown.values(), 'seeds', 'minutes', 'parameters']
        text += [f'## {group}', '', f'| {" | ".join(heads)} |']
        text += ['|---' * len(heads) + '|']
        for row, found in own.items():
            cells = [row.title, *(_cell(found, key) for key in shown)]
            cells += [str(len(found)), *_training(row, work_dir)]
            text.append(f'| {" | ".join(cells)} |')
        text.append('')
    return '\n'.join(text)


def _cell(runs: list[dict], key: str) -> str:
    values = [run[key] for run in runs if key in run]
    values = [value for value in values if not math.isnan(value)]
    if not values:
        return ''
    spread = f' ± {statistics.stdev(values):.4f}' if len(values) > 1 else ''
    return f'{statistics.mean(values):.4f}{spread}'


def _training(row: Row, work_dir: Path) -> tuple[str, str]:
    """Processor minutes of a row's own training; its parameters."""
    folder = work_dir / row.group / (row.weights or row.name)
    reports = [
        json.loads(path.read_text())
        for path in folder.glob('seed*/trained.json')
    ]
    if not reports:
        return '0', '0'
    minutes = statistics.mean(report['minutes'] for report in reports)
    config = Config.fromfile(CONFIGS / row.group / f'{row.name}.py')
    trained = config.model.decode_head.generator.type not in TRAINING_FREE
    parts = ('calibration', 'generator')[: 1 + trained]
    count = count_parameters(reports[0]['checkpoint'], parts)
    return f'{minutes:.1f}', f'{count // 1000}k'


def count_parameters(checkpoint: str, parts: tuple[str, ...]) -> int:
    """Parameters of some parts of the decode head in a checkpoint."""
    state = torch.load(checkpoint, map_location='cpu')['state_dict']
    prefixes = tuple(f'decode_head.{part}.' for part in parts)
    return sum(
        tensor.numel()
        for key, tensor in state.items()
        if key.startswith(prefixes) and not key.endswith(BUFFERS)
    )


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
    parser.add_argument(
        '--cfg-options', nargs='+', default=[], help='for every training'
    )
    parser.add_argument('--debug', action='store_true')
    return parser.parse_args()


def main() -> None:
    """Run what is asked for and write the summary."""
    args = parse_args()
    rows = [
        row
        for row in SUITE
        if not args.only
        or {row.group, f'{row.group}/{row.name}'} & set(args.only)
    ]
    if not rows:
        names = sorted({f'{row.group}/{row.name}' for row in SUITE})
        raise UserError(f'--only matches nothing of {", ".join(names)}.')
    experiments = Experiments(args.work_dir, args.cfg_options)
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = {
            run: pool.submit(experiments.test, *run)
            for run in order_runs(rows, args.seeds)
        }
        done, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in done):
            pool.shutdown(cancel_futures=True)
        for future in futures.values():
            future.result()
    scores = load_scores(SUITE, experiments)
    text = summarise(scores, args.work_dir)
    (args.work_dir / 'summary.md').write_text(text)
    found = {
        f'{row.group}/{row.title}/seed{seed}': values
        for (row, seed), values in scores.items()
    }
    write_json(args.work_dir / 'summary.json', found)
    print(text)


if __name__ == '__main__':
    cli.run_tool(main)
