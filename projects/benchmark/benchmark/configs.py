"""Configs of trainings and tests."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from mmengine.config import Config

from projects.processor_time import ProcessorBudgetHook

from .memory import in_memory
from .plans import FITTED, TRAINED, Training
from .smoothed_nll import SmoothedNLL
from .tasks import Task
from .training_data import fitted_field, held_out, max_class_area

RUNTIME = 'configs/_base_/default_runtime.py'
HELD_OUT = ('tune', 'diet')  # parts scored on held-out training images
ITERATIONS_PER_SECOND = 1000  # more than any method does: time decides


def data_config(task: Task) -> Config:
    """Runtime and data, with all files in memory."""
    cfg = Config.fromfile(RUNTIME)
    cfg.merge_from_dict(Config.fromfile(task.config).to_dict())
    cfg.custom_imports = None
    cfg.default_hooks.pop('visualization')
    for loader in (cfg.train_dataloader, cfg.test_dataloader):
        loader.update(num_workers=0, persistent_workers=False)
        # Packing few records costs more time than it saves memory.
        loader.dataset.serialize_data = False
        loader.dataset.pipeline = in_memory(loader.dataset.pipeline)
    for key in ('val_dataloader', 'val_evaluator', 'val_cfg'):
        cfg[key] = None
    return cfg


def labelled(cfg: Config, task: Task, part: str) -> dict:
    """The training images of a part with all their labels."""
    found = dict(
        cfg.train_dataloader.dataset,
        pipeline=cfg.test_dataloader.dataset.pipeline,
        test_mode=True,
    )
    if part in HELD_OUT:
        found['indices'] = held_out(task)[0]
    return found


def train_config(
    task: Task,
    training: Training,
    seed: int,
    part: str,
    seconds: float,
    black_box: Any,
) -> Config:
    """Config of a training.

    Args:
        task: The data set.
        training: What is trained.
        seed: Seed of the run.
        part: See `HELD_OUT`: those leave the held-out images out.
        seconds: Budget of the run, of which the training has its share.
        black_box: Called for the weights of the black box.
    """
    cfg = data_config(task)
    cfg.model = filled(cfg, training.model, task, part, black_box)
    if part in HELD_OUT:
        cfg.train_dataloader.dataset.indices = held_out(task)[0]
    adam = dict(type='Adam', betas=training.betas, weight_decay=5e-4)
    cfg.optim_wrapper = dict(
        constructor='NetworkOptimWrapperConstructor',
        **{
            name: dict(optimizer=dict(adam, lr=rate))
            for name, rate in training.rates.items()
        },
    )
    seconds *= training.share
    phase = dict(
        iters=int(seconds * ITERATIONS_PER_SECOND) + 1,
        train=list(training.rates),
    )
    if training.cycles:
        phase['cycles'] = training.cycles
    cfg.train_cfg = dict(type='AlternatingTrainLoop', phases=[phase])
    budget = dict(
        type=ProcessorBudgetHook.__name__,
        seconds=seconds,
        decay=training.decay,
    )
    cfg.custom_hooks = [budget, *training.hooks]
    cfg.randomness = dict(seed=seed + 100 * training.seed)
    cfg.default_hooks.checkpoint.interval = 200
    cfg.resume = True
    for key in ('test_dataloader', 'test_evaluator'):
        cfg[key] = None
    return cfg


def test_config(
    task: Task, model: dict, seed: int, part: str, black_box: Any
) -> Config:
    """Config of a test: held-out training images, or the test images."""
    cfg = data_config(task)
    cfg.model = filled(cfg, model, task, part, black_box)
    annotated = labelled(cfg, task, 'final')
    cfg.test_dataloader.batch_size = 16
    counts = (16, 100) if part in ('final', 'control') else (16,)
    if part in HELD_OUT:
        held = dict(annotated, indices=held_out(task)[1])
        cfg.test_dataloader.dataset = held
    metrics = list(cfg.test_evaluator)
    for metric in metrics:
        if 'num_samples' in metric:
            metric['num_samples'] = counts
    largest = max_class_area(json.dumps(annotated))
    flood = dict(type='FloodMetric', num_samples=(16,), largest=largest)
    nll = dict(type=SmoothedNLL.__name__)
    cfg.test_evaluator = [*metrics, nll, flood]
    own = cfg.model.get('test_cfg') or {}
    cfg.model.test_cfg = dict(own, num_samples=max(counts), seed=seed)
    cfg.test_cfg = dict(type='TestLoop')
    cfg.train_dataloader = None
    return cfg


def filled(
    cfg: Config, model: dict, task: Task, part: str, black_box: Any
) -> dict:
    """Put in what is known by now: the black box, fitted fields."""
    model = copy.deepcopy(model)
    for one in parts(model):
        if one.get('checkpoint') == TRAINED:
            one['checkpoint'] = black_box()
        if FITTED in one.values():
            images = json.dumps(labelled(cfg, task, part))
            one.update(fitted_field(task, images))
    return model


def parts(config: Any) -> Iterator[dict]:
    """A config and every config in it."""
    if isinstance(config, dict):
        yield config
        for value in config.values():
            yield from parts(value)


def relevant(cfg: Config) -> dict:
    """What decides about the result."""
    keys = ('model', 'train_dataloader', 'optim_wrapper', 'train_cfg')
    keys += (
        'param_scheduler',
        'custom_hooks',
        'randomness',
        'test_dataloader',
        'test_evaluator',
    )
    content = cfg.to_dict()
    return {key: content.get(key) for key in keys}
