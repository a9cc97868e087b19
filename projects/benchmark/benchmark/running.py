"""Methods trained and tested, each setting once."""

import json
import math
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmcar.evaluation import bounds
from mmcar.evaluation.metrics.base import labels_of
from mmcar.models.weights import load_weights
from mmcar.utils.errors import NonFiniteError
from mmcar.utils.files import write_json

from .configs import data_config, relevant, test_config
from .cost import sampling_cost
from .methods import CONTROLS, FEWER, METHODS, Setting
from .plans import Plan
from .quick_runner import build
from .tasks import Task
from .training import Step, Trainer, locked, log

RESULT = 'result.json'
PERFECT = 'perfect sampler'


@dataclass(frozen=True)
class Benchmark(Trainer):
    """Runs and scores plans.

    Attributes:
        known: Records of runs elsewhere, which are not repeated.
    """

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
            method: Name of the method, also one of `FEWER` or `CONTROLS`.
            setting: Its variant and learning rate.
            seed: Seed of trainings and of the test's noise.
            part: 'tune' trains without the held-out training images and is
                scored on them, as does 'diet'; 'final' and 'control' train on
                all and are scored on the test images, as does 'fewer' with 16
                samples.
            wait: Wait for another process that does the same.

        Returns:
            The record: scores, costs, and where they come from. One that
            became NaN has a GED of NaN and says why in 'failed'. None:
            another process is at it.
        """
        plan = (METHODS | FEWER | CONTROLS)[method].plan(task, setting)
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
            trainings = [self.shown(step.folder) for step in steps]
            budget = self.budget_of(part)
            key = self.version([relevant(cfg), budget, trainings])
            found = self._found(folder, key)
            if found is not None:
                return found
            record = dict(
                task=task.name,
                method=method,
                setting=str(setting),
                seed=seed,
                part=part,
                version=key,
                budget=budget,
                commit=self.commit,
                folder=self.shown(folder),
                trainings=trainings,
            )
            try:
                record |= self._train_all(task, steps, seed, part)
                record |= self._test(cfg, plan, paths, folder, part)
            except NonFiniteError as error:
                log(f'{task.title}: {method}, {setting} failed: {error}')
                record.update(scores=dict(GED_16=math.nan), failed=str(error))
            write_json(folder / RESULT, record)
            return record

    def _found(self, folder: Path, key: str) -> dict | None:
        """The record of a run with this version, if it has run."""
        path = folder / RESULT
        own = [json.loads(path.read_text())] if path.is_file() else []
        for record in (*own, *self.known):
            same = record.get('version') == key
            if same and record['folder'] == self.shown(folder):
                return record
        return None

    def _train_all(
        self, task: Task, steps: Sequence[Step], seed: int, part: str
    ) -> dict:
        reports = [self.train(task, step, seed, part) for step in steps]
        return dict(
            train_seconds=sum(report['seconds'] for report in reports),
            iterations=[report['iterations'] for report in reports],
            logged=[report['logged'] for report in reports],
        )

    def _test(
        self,
        cfg: Config,
        plan: Plan,
        paths: Sequence[str],
        folder: Path,
        part: str,
    ) -> dict:
        runner = build(cfg, folder)
        log(f'testing {self.shown(folder)}')
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
        cfg = data_config(task)
        tested = [cfg.test_dataloader, cfg.test_evaluator]
        key = self.version(Config(dict(tested=tested)).to_dict())
        with locked(folder):
            found = self._found(folder, key)
            if found is not None:
                return found
            dataset = DATASETS.build(cfg.test_dataloader.dataset)
            log(f'{task.title}: {PERFECT}')
            images = (dataset[i]['data_samples'] for i in range(len(dataset)))
            scores = bounds(
                (labels_of(image.to_dict()) for image in images),
                num_classes=task.num_classes,
                num_samples=(16, 100),
                classes=task.scored,
                absent=cfg.test_evaluator[0].get('absent'),
                flips=dataset.metainfo.get('class_flips'),
            )
            record = dict(
                task=task.name,
                method='perfect',
                part='bound',
                seed=0,
                version=key,
                commit=self.commit,
                folder=self.shown(folder),
                scores=scores[PERFECT],
            )
            write_json(folder / RESULT, record)
            return record


def parameters(model: torch.nn.Module) -> int:
    """Parameters of a prediction: all but the discriminator's and B's."""
    return sum(
        p.numel()
        for name, p in model.named_parameters()
        if 'discriminator' not in name and 'black_box' not in name
    )
