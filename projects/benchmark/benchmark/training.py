"""Trainings in this process, each once, shared by all methods that need it."""

import fcntl
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.logging import MessageHub

from mmcar.engine import find_resumable_checkpoint
from mmcar.utils.errors import NonFiniteError
from mmcar.utils.files import write_file, write_json
from projects.processor_time import ProcessorBudgetHook

from .configs import relevant, train_config
from .plans import Plan
from .quick_runner import build
from .tasks import Task
from .training_data import preload

BLACK_BOX = 'projects/cpu_experiments/configs/camvid/black_box.py'
WEIGHTS = 'weights.pth'


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
class Trainer:
    """Runs the trainings of plans.

    Attributes:
        work_dir: Folder of all results.
        budget: Processor seconds of every training.
        commit: Commit of the code, for the record.
        tuning_budget: Of those that choose settings; None: the same.
    """

    work_dir: Path
    budget: float
    commit: str | None = None
    tuning_budget: float | None = None

    def budget_of(self, part: str) -> float:
        """Processor seconds of every training of a part."""
        own = self.tuning_budget if part == 'tune' else None
        return own or self.budget

    def version(self, content: object) -> str:
        """Short hash of configs, the same wherever the work dir lies."""
        text = json.dumps(content, sort_keys=True, default=str)
        text = text.replace(f'{self.work_dir}/', '')
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def shown(self, folder: Path) -> str:
        """A folder as records name it, wherever the work dir lies."""
        return str(folder.relative_to(self.work_dir))

    def steps(
        self, task: Task, plan: Plan, seed: int, part: str
    ) -> list[Step]:
        """The trainings of a plan, whose weights are where they will be."""
        found: list[Step] = []
        for make in plan.trainings:
            training = make([step.weights for step in found])
            cfg = train_config(
                task,
                training,
                seed,
                part,
                self.budget_of(part),
                self.black_box,
            )
            version = self.version(relevant(cfg))
            folder = self.work_dir / task.name / 'trainings'
            found.append(Step(cfg, folder / f'{training.name}-{version}'))
        return found

    def train(self, task: Task, step: Step, seed: int, part: str) -> dict:
        """Train unless done; what it took.

        Raises:
            NonFiniteError: It failed, now or before.
        """
        with locked(step.folder):
            done = step.folder / 'trained.json'
            if not done.is_file():
                name = step.folder.name
                log(f'{task.title}: training {name}, seed {seed}, {part}')
                dataset = step.cfg.train_dataloader.dataset
                preload(task, part, json.dumps(dataset))
                try:
                    report = run_training(step)
                except NonFiniteError as error:
                    # Others that share it need not find that out again.
                    report = dict(failed=str(error))
                report.update(seed=seed, part=part, commit=self.commit)
                write_json(done, report)
                for path in step.folder.glob('iter_*.pth'):
                    path.unlink()  # nothing goes on from it
            report = json.loads(done.read_text())
        if 'failed' in report:
            raise NonFiniteError(f'{step.folder.name}: {report["failed"]}')
        return report

    def black_box(self) -> str:
        """Train the black box of CamVid unless done; its weights."""
        cfg = Config.fromfile(BLACK_BOX)
        cfg.custom_imports = None
        cfg.resume = True
        cfg.default_hooks.checkpoint.interval = 200
        name = f'black_box-{self.version(relevant(cfg))}'
        folder = self.work_dir / 'camvid' / 'trainings' / name
        path = folder / WEIGHTS
        with locked(folder):
            if not path.is_file():
                log('CamVid: training the black box')
                build(cfg, folder).train()
                write_file(path, last_checkpoint(folder).read_bytes())
        return str(path)


def run_training(step: Step) -> dict:
    """Train to the end of the budget; what it took."""
    runner = build(step.cfg, step.folder)
    runner.train()
    (clock,) = (
        hook for hook in runner.hooks if isinstance(hook, ProcessorBudgetHook)
    )
    # A checkpoint has averaged weights where a hook keeps an average; the
    # model itself has the last ones.
    saved = torch.load(last_checkpoint(step.folder), weights_only=False)
    torch.save(dict(state_dict=saved['state_dict']), step.folder / 'part.pth')
    (step.folder / 'part.pth').replace(step.weights)
    return dict(
        seconds=clock.spent,
        iterations=runner.iter,
        logged=start_and_end(runner.message_hub),
    )


def last_checkpoint(folder: Path) -> Path:
    """The checkpoint with which a training ended."""
    found = find_resumable_checkpoint(folder)
    assert found is not None  # the last iteration is always saved
    return found


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


def log(text: str) -> None:
    """Say what is going on."""
    print(f'{time.strftime("%H:%M:%S")}  {text}', flush=True)
