"""Running trainings and tests, each once."""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

from .suite import F_FROM, Row
from .versions import (
    TEST_KEYS,
    TRAINING_KEYS,
    claim,
    config_hash,
    load_config,
    recorded,
)

ROOT = Path(__file__).resolve().parents[3]  # has what projects share
CONFIGS = Path('projects/cpu_experiments/configs')
BLACK_BOX = 'black_box'
ENDED = 'trained.json'  # of a training that is finished
NOISES = {'normal': 'NormalNoise', 'sobol': 'SobolNoise'}
# These runs are short: a crash should cost little of them.
OFTEN = 'default_hooks.checkpoint.interval=200'


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


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """What a command that runs `Experiments` takes for them."""
    parser.add_argument(
        '--cfg-options', nargs='+', default=[], help='for every training'
    )
    parser.add_argument(
        '--test-options', nargs='+', default=[], help='for every test'
    )
    parser.add_argument(
        '--keep-old',
        action='store_true',
        help='take what is finished as it is, even if its config has changed',
    )


def config_path(group: str, name: str) -> Path:
    """File of a config."""
    return CONFIGS / group / f'{name}.py'


def sources(group: str, name: str) -> dict[str, list[str]]:
    """Trainings of the same group that a config takes weights from.

    Returns:
        Name of the other config -> config keys of its checkpoint.
    """
    head = load_config(config_path(group, name)).model.decode_head
    found = {}
    if head.get('black_box'):
        found[BLACK_BOX] = ['model.decode_head.black_box.checkpoint']
    if source := F_FROM.get(f'{group}/{name}'):
        own_net = ['generator.net'] if 'net' in head.generator else []
        found[source] = [
            f'model.decode_head.{part}.init_cfg.checkpoint'
            for part in ['calibration', *own_net]
        ]
    return found


@dataclass
class Experiments:
    """Runs rows, each training and each test once.

    Attributes:
        work_dir: Folder of all results.
        train_options: Config options of every training.
        test_options: Config options of every test.
        keep_old: Take what is finished as it is, whatever its version.
        commit: Commit of the code, for the record.
    """

    work_dir: Path
    train_options: Sequence[str] = ()
    test_options: Sequence[str] = ()
    keep_old: bool = False
    commit: str | None = None

    def config(self, group: str, name: str) -> Path:
        """File of a config."""
        return config_path(group, name)

    def sources(self, group: str, name: str) -> dict[str, list[str]]:
        """Trainings that a config takes weights from, see `sources`."""
        return sources(group, name)

    def folder(self, group: str, name: str, seed: int) -> Path:
        """Folder of one training; there is one black box for all seeds."""
        folder = self.work_dir / group / name
        return folder if name == BLACK_BOX else folder / f'seed{seed}'

    def training_version(self, group: str, name: str, seed: int) -> str:
        """Hash of all that decides about the weights of a training."""
        folder = self.folder(group, name, seed)
        if self.keep_old and (folder / ENDED).is_file():
            return recorded(folder) or 'not recorded'
        return config_hash(
            self.config(group, name),
            self.training_settings(name, seed),
            TRAINING_KEYS,
            self._source_versions(group, name, seed),
        )

    def _source_versions(self, group: str, name: str, seed: int) -> list[str]:
        names = self.sources(group, name)
        return [self.training_version(group, n, seed) for n in names]

    def training_settings(self, name: str, seed: int) -> list[str]:
        """Config options of a training."""
        if name == BLACK_BOX:
            return []
        return [f'randomness.seed={seed}', OFTEN, *self.train_options]

    def _weights(self, group: str, name: str, seed: int) -> list[str]:
        """Config options that name the weights to take over; trains them."""
        options = []
        for source, keys in self.sources(group, name).items():
            checkpoint = self.train(group, source, seed)
            options += [f'{key}={checkpoint}' for key in keys]
        return options

    def train(self, group: str, name: str, seed: int) -> Path:
        """Train unless done; the last checkpoint."""
        folder = self.folder(group, name, seed)
        done = folder / ENDED
        with locked(folder) as lock:
            version = self.training_version(group, name, seed)
            finished = done.is_file()
            claim(folder, version, self.commit, finished, self.keep_old)
            if not finished:
                options = self.training_settings(name, seed)
                options += self._weights(group, name, seed)
                seconds = run_tool(
                    'train.py',
                    self.config(group, name),
                    folder,
                    ['--resume'],
                    options,
                    lock,
                )
                last = (folder / 'last_checkpoint').read_text().strip()
                report = dict(checkpoint=last, minutes=seconds / 60)
                write_json(done, report)
            return Path(json.loads(done.read_text())['checkpoint'])

    def scores_file(self, row: Row, seed: int) -> Path:
        """Where the scores of a row for one seed are written."""
        folder = self.folder(row.group, row.name, seed)
        return folder / f'test_{row.noise}' / 'test_scores.json'

    def test_version(self, row: Row, seed: int) -> str:
        """Hash of all that decides about the scores of a row."""
        versions = self._source_versions(row.group, row.name, seed)
        if row.weights is not None:
            versions.append(
                self.training_version(row.group, row.weights, seed)
            )
        path = self.config(row.group, row.name)
        options = self.test_settings(row, seed)
        return config_hash(path, options, TEST_KEYS, versions)

    def test_settings(self, row: Row, seed: int) -> list[str]:
        """Config options of a test."""
        return [
            f'model.noise.type={NOISES[row.noise]}',
            'model.test_cfg.num_samples=100',
            f'model.test_cfg.seed={seed}',
            'test_evaluator.0.num_samples=(16,50,100)',
            *self.test_options,
        ]

    def test(self, row: Row, seed: int) -> None:
        """Score a row for one seed, unless that is done."""
        checkpoint = []
        if row.weights is not None:
            checkpoint = [str(self.train(row.group, row.weights, seed))]
        scores = self.scores_file(row, seed)
        folder = scores.parent
        with locked(folder) as lock:
            version = self.test_version(row, seed)
            finished = scores.is_file()
            claim(folder, version, self.commit, finished, self.keep_old)
            if not finished:
                options = self.test_settings(row, seed)
                options += self._weights(row.group, row.name, seed)
                run_tool(
                    'test.py',
                    self.config(row.group, row.name),
                    folder,
                    checkpoint,
                    options,
                    lock,
                )


def run_tool(
    tool: str,
    config: Path,
    folder: Path,
    arguments: list[str],
    options: list[str],
    lock: int,
) -> float:
    """Run a tool on one thread; the seconds of processor time it took.

    Unlike time on the clock, they do not depend on what else runs.

    Args:
        tool: File below tools/.
        config: The config.
        folder: Its work dir.
        arguments: Further arguments.
        options: Config options.
        lock: Descriptor of the folder's lock. The tool holds it too, lest it
            outlives this process.
    """
    command = [sys.executable, f'tools/{tool}', str(config), *arguments]
    command += ['--work-dir', str(folder)]
    if options:
        command += ['--cfg-options', *options]
    print(f'{time.strftime("%H:%M:%S")}  {" ".join(command[1:])}')
    log = folder / 'output.log'
    paths = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
    environment = os.environ | {'OMP_NUM_THREADS': '1', 'PYTHONPATH': paths}
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


def order_runs(
    rows: Sequence[Row], max_seeds: int | None
) -> list[tuple[Row, int]]:
    """Pairs of row and seed: first one per training, lest two wait for it."""
    first, later, trainings = [], [], set()
    for row in rows:
        for seed in range(min(row.seeds, max_seeds or row.seeds)):
            training = (row.group, row.weights, seed)
            known = row.weights is not None and training in trainings
            (later if known else first).append((row, seed))
            trainings.add(training)
    return first + later
