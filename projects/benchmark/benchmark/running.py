"""Trainings and tests in this process, each once."""

import fcntl
import hashlib
import json
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.logging import MessageHub
from mmseg.registry import DATASETS

from mmcar.engine import ProcessorBudgetHook
from mmcar.evaluation.bounds import reference_scores
from mmcar.utils.files import write_file, write_json
from mmcar.utils.weights import load_weights

from .configs import data_config, relevant, test_config, train_config
from .cost import sampling_cost
from .methods import METHODS, Setting
from .plans import Plan
from .quick_runner import build
from .tasks import Task
from .training_data import preload

BLACK_BOX = 'projects/cpu_experiments/configs/camvid/black_box.py'
WEIGHTS = 'weights.pth'
RESULT = 'result.json'
PERFECT = 'perfect sampler'


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[bool]:
    """Keep other processes out of a folder.

    Args:
        folder: The folder.
        wait: Wait for another process that works in it.

    Yields:
        Whether it is free for this process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / 'lock', 'w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def digest(content: object) -> str:
    """A short hash of configs."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Step:
    """A training of a plan, before it has run.

    Attributes:
        cfg: Its config.
        folder: Its folder, which follows from the config.
    """

    cfg: Config
    folder: Path

    @property
    def weights(self) -> str:
        """Where it leaves its weights."""
        return str(self.folder / WEIGHTS)


@dataclass(frozen=True)
class Benchmark:
    """Runs plans.

    Attributes:
        work_dir: Folder of all results.
        budget: Processor seconds of every training.
        commit: Commit of the code, for the record.
        known: Records of runs elsewhere, which are not repeated.
    """

    work_dir: Path
    budget: float
    commit: str | None = None
    known: Sequence[dict] = ()

    def score(
        self,
        task: Task,
        method: str,
        setting: Setting,
        seed: int,
        part: str,
        wait: bool = True,
    ) -> dict | None:
        """Train and score a method, unless that is done.

        Args:
            task: The data set.
            method: Name of the method.
            setting: Its variant and learning rate.
            seed: Seed of trainings and of the test's noise.
            part: 'tune' trains without the held-out training images and is
                scored on them, as does 'diet'; 'final' trains on all and is
                scored on the test images.
            wait: Wait for another process that does the same.

        Returns:
            The record: scores, costs, and where they come from. None: another
            process is at it.
        """
        plan = METHODS[method].plan(task, setting)
        name = f'{method}-{zlib.crc32(str(setting).encode()):08x}-seed{seed}'
        folder = self.work_dir / task.name / part / name
        with locked(folder, wait) as free:
            if not free:
                return None
            steps = self.steps(task, plan, seed, part)
            paths = [step.weights for step in steps]
            cfg = test_config(
                task, plan.model(paths), seed, part, self.black_box
            )
            key = self._version([relevant(cfg), self.budget])
            found = self._found(folder, key)
            if found is not None:
                return found
            reports = [self.train(task, step, seed, part) for step in steps]
            record = dict(
                task=task.name,
                method=method,
                setting=str(setting),
                seed=seed,
                part=part,
                version=key,
                budget=self.budget,
                commit=self.commit,
                folder=self._shown(folder),
                trainings=[self._shown(step.folder) for step in steps],
                train_seconds=sum(report['seconds'] for report in reports),
                iterations=[report['iterations'] for report in reports],
                logged=[report.get('logged', {}) for report in reports],
                **self._test(cfg, plan, paths, folder, part),
            )
            write_json(folder / RESULT, record)
            return record

    def _found(self, folder: Path, key: str) -> dict | None:
        """The record of a run with this version, if it has run."""
        path = folder / RESULT
        own = [json.loads(path.read_text())] if path.is_file() else []
        for record in (*own, *self.known):
            same = record.get('version') == key
            if same and record['folder'] == self._shown(folder):
                return record
        return None

    def _shown(self, folder: Path) -> str:
        return str(folder.relative_to(self.work_dir))

    def _version(self, content: object) -> str:
        """Hash of configs, the same wherever the work dir lies."""
        text = json.dumps(content, sort_keys=True, default=str)
        return digest(text.replace(f'{self.work_dir}/', ''))

    def steps(
        self, task: Task, plan: Plan, seed: int, part: str
    ) -> list[Step]:
        """The trainings of a plan, whose weights are where they will be."""
        found: list[Step] = []
        for make in plan.trainings:
            training = make([step.weights for step in found])
            cfg = train_config(
                task, training, seed, part, self.budget, self.black_box
            )
            version = self._version(relevant(cfg))
            folder = self.work_dir / task.name / 'trainings'
            found.append(Step(cfg, folder / f'{training.name}-{version}'))
        return found

    def train(self, task: Task, step: Step, seed: int, part: str) -> dict:
        """Train unless done; what it took."""
        cfg, folder = step.cfg, step.folder
        with locked(folder):
            done = folder / 'trained.json'
            if done.is_file():
                return json.loads(done.read_text())
            log(f'{task.title}: training {folder.name}, seed {seed}, {part}')
            preload(task, part, json.dumps(cfg.train_dataloader.dataset))
            runner = build(cfg, folder)
            runner.train()
            (clock,) = (
                hook
                for hook in runner.hooks
                if isinstance(hook, ProcessorBudgetHook)
            )
            state = dict(state_dict=runner.model.state_dict())
            torch.save(state, folder / 'part.pth')
            (folder / 'part.pth').replace(step.weights)
            report = dict(
                seconds=clock.spent,
                iterations=runner.iter,
                logged=start_and_end(runner.message_hub),
                seed=seed,
                part=part,
                commit=self.commit,
            )
            write_json(done, report)
            for path in folder.glob('iter_*.pth'):  # nothing goes on from it
                path.unlink()
            return report

    def _test(
        self,
        cfg: Config,
        plan: Plan,
        paths: Sequence[str],
        folder: Path,
        part: str,
    ) -> dict:
        runner = build(cfg, folder)
        log(f'testing {folder.relative_to(self.work_dir)}')
        model = runner.model
        if plan.weights is not None and paths:
            path = paths[plan.weights]
            state = torch.load(path)['state_dict']
            before, now = plan.renamed
            own = {
                now + key.removeprefix(before): value
                for key, value in state.items()
                if key.startswith(before)
            }
            if before:  # the black box has weights of its own
                own = {**model.state_dict(), **own}
            load_weights(model, own, source=path, advice='Run it anew.')
        start = time.process_time()
        scores = {k: float(v) for k, v in runner.test().items()}
        report = dict(
            scores=scores,
            test_seconds=time.process_time() - start,
            parameters=parameters(model),
        )
        if part == 'final':
            report |= sampling_cost(model, runner.test_loop.dataloader.dataset)
        return report

    def bound(self, task: Task) -> dict:
        """What a sampler scores that draws from the test annotations."""
        folder = self.work_dir / task.name / 'final' / 'perfect'
        path = folder / RESULT
        with locked(folder):
            if path.is_file():
                return json.loads(path.read_text())
            cfg = data_config(task)
            dataset = DATASETS.build(cfg.test_dataloader.dataset)
            log(f'{task.title}: {PERFECT}')
            found = reference_scores(
                (dataset[i]['data_samples'] for i in range(len(dataset))),
                num_classes=task.num_classes,
                num_samples=(16, 100),
                classes=task.scored,
                absent=cfg.test_evaluator[0].get('absent'),
            )
            record = dict(
                task=task.name,
                method='perfect',
                part='bound',
                seed=0,
                commit=self.commit,
                folder=str(folder.relative_to(self.work_dir)),
                scores=found[PERFECT],
            )
            write_json(path, record)
            return record

    def black_box(self) -> str:
        """Train the black box of CamVid unless done; its weights."""
        folder = self.work_dir / 'camvid' / 'black_box'
        path = folder / WEIGHTS
        with locked(folder):
            if path.is_file():
                return str(path)
            cfg = Config.fromfile(BLACK_BOX)
            cfg.custom_imports = None
            cfg.resume = True
            cfg.default_hooks.checkpoint.interval = 200
            runner = build(cfg, folder)
            log('CamVid: training the black box')
            runner.train()
            write_file(
                path,
                Path(runner.message_hub.get_info('last_ckpt')).read_bytes(),
            )
        return str(path)


def start_and_end(hub: MessageHub) -> dict[str, list[float]]:
    """Means of what a training logged, over its first and last tenth."""
    found = {}
    for name, buffer in hub.log_scalars.items():
        values, _ = buffer.data
        if name.startswith('train/') and len(values):
            tenth = max(len(values) // 10, 1)
            ends = values[:tenth], values[-tenth:]
            means = [float(np.mean(end)) for end in ends]
            found[name.removeprefix('train/')] = means
    return found


def parameters(model: torch.nn.Module) -> int:
    """Parameters of a prediction: all but the discriminator's and B's."""
    return sum(
        p.numel()
        for name, p in model.named_parameters()
        if 'discriminator' not in name and 'black_box' not in name
    )


def log(text: str) -> None:
    """Say what is going on."""
    print(f'{time.strftime("%H:%M:%S")}  {text}', flush=True)
