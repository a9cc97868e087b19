"""Trainings and tests in this process, each once."""

import copy
import fcntl
import hashlib
import json
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmcar.engine import ProcessorBudgetHook
from mmcar.evaluation import FloodMetric
from mmcar.utils.files import write_file, write_json
from mmcar.utils.weights import load_weights

from .cost import sampling_cost
from .memory import in_memory
from .methods import METHODS, Plan, Training
from .quick_runner import build
from .tasks import Task, split

RUNTIME = 'configs/_base_/default_runtime.py'
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


def digest(content: object) -> str:
    """A short hash of configs."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Benchmark:
    """Runs plans.

    Attributes:
        work_dir: Folder of all results.
        budget: Processor seconds of every training.
        commit: Commit of the code, for the record.
    """

    work_dir: Path
    budget: float
    commit: str | None = None

    def score(
        self,
        task: Task,
        method: str,
        setting: str,
        seed: int,
        part: str,
        wait: bool = True,
    ) -> dict | None:
        """Train and score a method, unless that is done.

        Args:
            task: The data set.
            method: Name of the method.
            setting: Name of its setting.
            seed: Seed of trainings and of the test's noise.
            part: 'tune' trains without the held-out training images and is
                scored on them; 'final' trains on all and is scored on the
                test images.
            wait: Wait for another process that does the same.

        Returns:
            The record: scores, costs, and where they come from. None: another
            process is at it.
        """
        plan = METHODS[method].plans(task)[setting]
        name = f'{method}-{zlib.crc32(setting.encode()):08x}-seed{seed}'
        folder = self.work_dir / task.name / part / name
        with locked(folder, wait) as free:
            if not free:
                return None
            path = folder / 'result.json'
            paths, seconds, iterations = self._train(task, plan, seed, part)
            cfg = self._test_config(task, plan, paths, seed, part)
            key = digest([_relevant(cfg), self.budget])
            if path.is_file():
                found = json.loads(path.read_text())
                if found['version'] == key:
                    return found
            record = dict(
                task=task.name,
                method=method,
                setting=setting,
                seed=seed,
                part=part,
                version=key,
                commit=self.commit,
                folder=str(folder.relative_to(self.work_dir)),
                trainings=[
                    str(Path(p).parent.relative_to(self.work_dir))
                    for p in paths
                ],
                train_seconds=seconds,
                iterations=iterations,
                **self._test(cfg, plan, paths, folder, part),
            )
            write_json(path, record)
            return record

    def _train(
        self, task: Task, plan: Plan, seed: int, part: str
    ) -> tuple[list[str], float, list[int]]:
        paths: list[str] = []
        seconds, iterations = 0.0, []
        for make in plan.trainings:
            report = self.train(task, make(paths), seed, part)
            paths.append(report['weights'])
            seconds += report['seconds']
            iterations.append(report['iterations'])
        return paths, seconds, iterations

    def train(
        self, task: Task, training: Training, seed: int, part: str
    ) -> dict:
        """Train unless done; a report with the path of the weights."""
        cfg = self._train_config(task, training, seed, part)
        folder = self.work_dir / task.name / 'trainings'
        folder /= f'{training.name}-{digest(_relevant(cfg))}'
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
            weights = folder / WEIGHTS
            state = dict(state_dict=runner.model.state_dict())
            torch.save(state, folder / 'part.pth')
            (folder / 'part.pth').replace(weights)
            report = dict(
                weights=str(weights),
                seconds=clock.spent,
                iterations=runner.iter,
                seed=seed,
                part=part,
                commit=self.commit,
            )
            write_json(done, report)
            return report

    def _train_config(
        self, task: Task, training: Training, seed: int, part: str
    ) -> Config:
        cfg = self._config(task)
        kept, _ = held_out(task)
        if part == 'tune':
            cfg.train_dataloader.dataset.indices = kept
        adam = dict(type='Adam', weight_decay=5e-4)
        cfg.model = self._with_black_box(training.model)
        cfg.optim_wrapper = dict(
            constructor='NetworkOptimWrapperConstructor',
            **{
                name: dict(optimizer=dict(adam, lr=rate))
                for name, rate in training.rates.items()
            },
        )
        phase = dict(iters=10**6, train=list(training.rates))
        if training.cycles:
            phase['cycles'] = training.cycles
        cfg.train_cfg = dict(type='AlternatingTrainLoop', phases=[phase])
        seconds = self.budget * training.share
        budget = dict(type='ProcessorBudgetHook', seconds=seconds)
        cfg.custom_hooks = [budget, *training.hooks]
        cfg.randomness = dict(seed=seed + 100 * training.seed)
        cfg.default_hooks.checkpoint.interval = 200
        cfg.resume = True
        for key in ('test_dataloader', 'test_evaluator'):
            cfg[key] = None
        return cfg

    def _test_config(
        self, task: Task, plan: Plan, paths: list[str], seed: int, part: str
    ) -> Config:
        cfg = self._config(task)
        train = cfg.train_dataloader.dataset
        pipeline = cfg.test_dataloader.dataset.pipeline
        labelled = dict(train, pipeline=pipeline, test_mode=True)
        cfg.test_dataloader.batch_size = 16
        number = 100
        if part == 'tune':
            number, (_, chosen) = 16, held_out(task)
            cfg.test_dataloader.dataset = dict(labelled, indices=chosen)
        metrics = list(cfg.test_evaluator)
        counts = (16, 100) if number == 100 else (16,)
        for metric in metrics:
            if 'num_samples' in metric:
                metric['num_samples'] = counts
        flood = dict(type='FloodMetric', num_samples=(16,))
        metrics.append(dict(flood, largest=self.largest(task, labelled)))
        cfg.test_evaluator = metrics
        cfg.model = self._with_black_box(plan.model(paths))
        cfg.model.test_cfg = dict(num_samples=number, seed=seed)
        cfg.test_cfg = dict(type='TestLoop')
        cfg.train_dataloader = None
        return cfg

    def _test(
        self,
        cfg: Config,
        plan: Plan,
        paths: list[str],
        folder: Path,
        part: str,
    ) -> dict:
        runner = build(cfg, folder)
        log(f'testing {folder.relative_to(self.work_dir)}')
        model = runner.model
        if plan.weights is not None:
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

    def largest(self, task: Task, labelled: dict) -> list[float]:
        """Largest share of each class in an annotation of the training set.

        Args:
            task: The data set.
            labelled: Config of its training set, with all labels.
        """
        path = self.work_dir / task.name / 'largest.json'
        if not path.is_file():
            metric = FloodMetric(train_dataset=labelled)
            metric.dataset_meta = DATASETS.build(labelled).metainfo
            write_json(path, metric.largest.tolist())
        return json.loads(path.read_text())

    def _config(self, task: Task) -> Config:
        cfg = Config.fromfile(RUNTIME)
        cfg.merge_from_dict(Config.fromfile(task.config).to_dict())
        cfg.custom_imports = None
        cfg.default_hooks.pop('visualization')
        for loader in (cfg.train_dataloader, cfg.test_dataloader):
            loader.update(num_workers=0, persistent_workers=False)
            loader.dataset.pipeline = in_memory(loader.dataset.pipeline)
        for key in ('val_dataloader', 'val_evaluator', 'val_cfg'):
            cfg[key] = None
        return cfg

    def _with_black_box(self, model: dict) -> dict:
        """Name the weights of the black box, where there is one."""
        model = copy.deepcopy(model)
        for part in _parts(model):
            if part.get('checkpoint') == 'BLACK_BOX':
                part['checkpoint'] = self.black_box()
        return model

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


def _parts(config: Any) -> Iterator[dict]:
    """A config and every config in it."""
    if isinstance(config, dict):
        yield config
        for value in config.values():
            yield from _parts(value)


def _relevant(cfg: Config) -> dict:
    """What decides about the result."""
    keys = ('model', 'train_dataloader', 'optim_wrapper', 'train_cfg')
    keys += ('custom_hooks', 'randomness', 'test_dataloader', 'test_evaluator')
    content = cfg.to_dict()
    return {key: content.get(key) for key in keys}


@cache
def held_out(task: Task) -> tuple[list[int], list[int]]:
    """Training images to train with, and those that choose settings."""
    dataset = Config.fromfile(task.config).train_dataloader.dataset
    dataset = DATASETS.build(dataset)
    names = [
        Path(dataset.get_data_info(i)['img_path']).stem
        for i in range(len(dataset))
    ]
    return split(names, task.case)


@cache
def preload(task: Task, part: str, dataset: str) -> None:
    """Read all files of a data set once: no training pays for it."""
    images = DATASETS.build(json.loads(dataset))
    for index in range(len(images)):
        images[index]


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
