"""One step of every phase and one validation image, before training.

What would fail in a later phase or in the first validation, hours from now,
fails at once. The model, random numbers and files stay as they are.
"""

import itertools
import logging
import random
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import InfiniteSampler
from mmengine.evaluator import Evaluator
from mmengine.hooks import CheckpointHook, EarlyStoppingHook, Hook
from mmengine.logging import MessageHub
from mmengine.model import BaseModel
from mmengine.runner import BaseLoop, Runner
from torch import Tensor, nn
from torch.utils.data import DataLoader

from ..datasets.image_files import refuse_deep
from ..engine import PhaseTimerHook, Schedule, unwrap_model
from ..engine.black_box_cache import find_datasets
from ..engine.checkpoints import check_resumed
from ..engine.resumable_data import ResumableDataLoader
from ..evaluation.metrics.names import better
from ..models.black_boxes import check_black_boxes
from ..structures import refuse_shared_keys
from ..utils.errors import UserError
from ..utils.hints import nearest
from .config_errors import naming_keys
from .config_schedule import shortened
from .first_look import (
    check_label_sizes,
    check_packed,
    check_scored,
    check_start,
    warn_of_shared_images,
)
from .first_weights import FirstWeights
from .pipeline_steps import check_batches, check_objects, check_steps

STOCK_LOADER = 'LoadImageFromFile'
LOOKED_AT = 16  # images; check_dataset.py looks at all
FAR = 100.0  # deviations from the mean; no image has such values
CLOSE = 0.8  # likeness of names, from 0 to 1
BYTE = 255  # the largest value of 8 bits
IMAGES = 2  # of a batch: batch norm needs more than one


class NoUpdate:
    """Stands in for an optimiser: gradients are computed, nothing learns."""

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Compute as usual."""
        yield

    def update_params(self, loss: Tensor) -> None:
        """Go backwards, and stop there."""
        loss.backward()


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Leave no trace in a model or in the random numbers."""
    hub = MessageHub.get_current_instance()
    info = dict(hub.runtime_info)
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    gradients = [(weight, weight.grad) for weight in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    states = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count())
    for weight, _ in gradients:
        weight.grad = None
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)
        for weight, gradient in gradients:
            weight.grad = gradient
        for module, mode in modes:
            module.training = mode
        hub.runtime_info.clear()
        hub.runtime_info.update(info)


def phases_of(runner: Runner) -> list[tuple[str, int, dict[str, Any] | None]]:
    """The phases of a training: key, iterations, optimisers by network.

    A loop without phases has one, with the optimiser of the whole model.
    """
    schedule: Schedule | None = getattr(runner.train_loop, 'schedule', None)
    if schedule is None:
        return [('train_cfg', runner.train_loop.max_iters, None)]
    return [
        (
            phase_key(index),
            phase.iters,
            {name: NoUpdate() for name in phase.train},
        )
        for index, phase in enumerate(schedule.phases)
        if phase.iters
    ]


def copied_in(runner: Runner, key: str) -> list[str]:
    """Paths of the parts whose weights a phase takes over."""
    schedule: Schedule | None = getattr(runner.train_loop, 'schedule', None)
    return [
        source
        for index, phase in enumerate(schedule.phases if schedule else ())
        if phase_key(index) == key
        for source in phase.copy.values()
    ]


def check_images(
    cfg: Config, model: nn.Module, **loops: BaseLoop | None
) -> None:
    """Refuse images and labels that a loader or a step does not suit.

    Args:
        cfg: The config.
        model: The model.
        loops: By split: ``train``, ``val``, ``test``.
    """
    for split, loop in loops.items():
        if loop is None:
            continue
        with naming_keys(cfg, f'{split}_dataloader'):
            dataset = loop.dataloader.dataset
            refuse_shared_keys(dataset)
            check_black_boxes(model, getattr(dataset, 'metainfo', None))
            if _loads_8_bits(cfg.get(f'{split}_dataloader')):
                _refuse_deep_images(dataset)
            check_steps(cfg, split, dataset)
            if split == 'train':
                check_objects(cfg, dataset)
            else:
                check_batches(split, loop.dataloader, model)
    warn_of_shared_images(loops)


def _loads_8_bits(loader: Any) -> bool:
    """Whether a pipeline reads images by MMSeg's loader."""
    return any(
        step.get('type') == STOCK_LOADER and not step.get('backend_args')
        for dataset in find_datasets(loader)
        for step in dataset['pipeline']
    )


def _refuse_deep_images(dataset: Any) -> None:
    """Look at some of the images, from first to last."""
    if hasattr(dataset, 'get_data_info'):
        last = len(dataset) - 1
        places = np.linspace(0, last, min(last + 1, LOOKED_AT)).astype(int)
        for place in places.tolist():
            refuse_deep(dataset.get_data_info(place)['img_path'], STOCK_LOADER)


def few_images(
    loader: DataLoader | ResumableDataLoader,
    number: int,
    split: str | None = None,
) -> Any:
    """A small batch of a loader, made in this process.

    Args:
        loader: The loader.
        number: Of images, at most.
        split: Whose images they are, if they must be packed for a model.
    """
    keys = first_keys(loader, min(number, loader.batch_size or 1))
    items = [loader.dataset[key] for key in keys]
    for item in items if split else ():
        check_packed(str(split), item)
    return loader.collate_fn(items)


def first_keys(
    loader: DataLoader | ResumableDataLoader, number: int
) -> list[Any]:
    """What a loader asks its data set for first."""
    if isinstance(loader.sampler, InfiniteSampler):
        # It has one sequence only: looking at it would end it.
        return list(range(min(number, loader.sampler.size)))
    return list(itertools.islice(iter(loader.sampler), number))


def train_once(
    model: BaseModel, batch: Any, optims: Mapping | None
) -> Mapping[str, Any]:
    """One step without an update."""
    model.train()
    return model.train_step(batch, NoUpdate() if optims is None else optims)


def seconds_of_step(
    model: BaseModel, batch: Any, optims: Mapping | None
) -> float:
    """How long a step takes once all is warmed up."""
    start = time.monotonic()
    train_once(model, batch, optims)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic() - start


def expect(runner: Runner, key: str, seconds: float) -> None:
    """Tell the ETA how long a step of a phase takes.

    Args:
        runner: Its timer hook gets the estimate, if it knows phases.
        key: Of the phase, see `phases_of`.
        seconds: See `seconds_of_step`.
    """
    for hook in runner.hooks:
        if isinstance(hook, PhaseTimerHook) and hook.left is not None:
            phases = range(len(hook.left.schedule.phases))
            index = [phase_key(i) for i in phases].index(key)
            hook.left.expect(index, seconds)


def phase_key(index: int) -> str:
    """Where a phase stands in the config."""
    return f'train_cfg.phases[{index}]'


@torch.no_grad()
def predict_once(model: BaseModel, batch: Any) -> Any:
    """Predict a batch as a validation does."""
    model.eval()
    return model.val_step(batch)


def score_once(evaluator: Evaluator, batch: Any, outputs: Any) -> list[str]:
    """Names of the scores that an evaluator reports; no file is written."""
    logger = logging.getLogger('mmengine')
    kept = logger.level
    files = [(m, m.csv_file) for m in evaluator.metrics if _has_file(m)]
    try:
        logger.setLevel(logging.WARNING)
        for metric, _ in files:
            metric.csv_file = None
        evaluator.process(data_samples=outputs, data_batch=batch)
        return list(evaluator.evaluate(len(outputs)))
    finally:
        logger.setLevel(kept)
        for metric, path in files:
            metric.csv_file = path
        for metric in evaluator.metrics:
            metric.results.clear()


def _has_file(metric: Any) -> bool:
    return getattr(metric, 'csv_file', None) is not None


def check_best(runner: Runner, scores: list[str]) -> None:
    """Refuse a hook that looks for a score that is not there."""
    for hook in runner.hooks:
        key, wanted = _score_of(hook)
        if isinstance(hook, CheckpointHook):
            check_scored(runner, wanted)
        names = [wanted] if isinstance(wanted, str) else wanted or ()
        for name, rule in zip(names, _rules_of(hook), strict=False):
            if None not in (rule, better(name)) and rule != better(name):
                raise UserError(
                    f'{key}={name!r} with rule={rule!r} would take the worst '
                    f'for the best: set rule={better(name)!r}.'
                )
        for name in names:
            if name not in (*scores, 'auto'):
                raise UserError(
                    f'{key}={name!r}: val_evaluator reports '
                    f'{", ".join(scores)}.'
                )


def _rules_of(hook: Hook) -> list[str | None]:
    """What a hook takes for better, by score."""
    rules = getattr(hook, 'rules', None) or [getattr(hook, 'rule', None)]
    return list(rules)


def _score_of(hook: Hook) -> tuple[str, Any]:
    """Which score a hook follows, and the key that says so."""
    if isinstance(hook, CheckpointHook):
        return 'default_hooks.checkpoint.save_best', hook.save_best
    if isinstance(hook, EarlyStoppingHook):
        return 'monitor of EarlyStoppingHook', hook.monitor
    return '', None


def check_batch(split: str, batch: Any) -> None:
    """Refuse a batch without images, or without labels to learn from."""
    check_packed(split, batch)
    if split != 'train':
        return
    if 'gt_sem_seg' not in batch['data_samples'][0]:
        raise UserError(
            'train_dataloader.dataset.pipeline loads no labels to learn '
            "from: put dict(type='LoadMultiAnnotations') into it, after the "
            'image.'
        )
    check_label_sizes(batch)


def check_normalization(model: nn.Module, batch: Any) -> None:
    """Refuse a mean or deviation for images of other units."""
    preprocessor = getattr(model, 'data_preprocessor', None)
    deviation = getattr(preprocessor, 'std', None)
    mean = getattr(preprocessor, 'mean', None)
    bytes_only = all(image.dtype == torch.uint8 for image in batch['inputs'])
    if bytes_only and isinstance(mean, Tensor):
        if mean.min() < 0 or mean.max() > BYTE:
            raise UserError(
                'model.data_preprocessor.mean='
                f'{mean.flatten().tolist()}, but images have values from 0 '
                f'to {BYTE}: give it in the units of the images.'
            )
        if deviation is not None and deviation.max() > BYTE:
            raise UserError(
                'model.data_preprocessor.std='
                f'{deviation.flatten().tolist()}, but images have values '
                f'from 0 to {BYTE}: give it in the units of the images.'
            )
    if not isinstance(deviation, Tensor) or deviation.min() >= 1:
        return
    largest = max(float(image.abs().max()) for image in batch['inputs'])
    if largest / float(deviation.min()) > FAR:
        raise UserError(
            'model.data_preprocessor.std='
            f'{[round(x, 4) for x in deviation.flatten().tolist()]}, but '
            f'images have values up to {largest:g}: give mean and std in the '
            'units of the images.'
        )


def check_custom_keys(cfg: Config, model: nn.Module) -> None:
    """Refuse settings for parameters whose name is nearly, not quite, one."""
    wrapper = cfg.get('optim_wrapper') or {}
    keys = (wrapper.get('paramwise_cfg') or {}).get('custom_keys') or {}
    names = [name for name, _ in model.named_parameters()]
    words = {word for name in names for word in name.split('.')}
    for key in keys:
        near = nearest(key, words, CLOSE)
        if near is not None and not any(key in name for name in names):
            raise UserError(
                f'optim_wrapper.paramwise_cfg.custom_keys.{key}: no parameter '
                f'of the model is called so; did you mean {near!r}?'
            )


class RehearsalHook(Hook):
    """Tries everything that a training will do, just before it begins.

    Args:
        cfg: The config, to name its keys.
    """

    def __init__(self, cfg: Config) -> None:
        self.cfg = cfg
        self.done = False
        self.loaded: Set[str] = frozenset()

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Look at what a training starts from."""
        weights = checkpoint.get('state_dict', checkpoint)
        self.loaded = {key.removeprefix('module.') for key in weights}
        path = self.cfg.get('load_from')
        if self.cfg.get('resume'):
            check_resumed(runner, checkpoint)
        elif path:
            check_start(path, checkpoint, unwrap_model(runner.model))

    def before_train(self, runner: Runner) -> None:
        """Try one step of every phase and one validation image."""
        check_custom_keys(self.cfg, unwrap_model(runner.model))
        for sentence in shortened(self.cfg):
            self.tell(runner, sentence)
        with untouched(unwrap_model(runner.model)):
            self.rehearse(runner)
        self.done = True

    def tell(self, runner: Runner, sentence: str) -> None:
        """Say what may be meant, and may be a mistake."""
        runner.logger.warning(sentence)

    def rehearse(self, runner: Runner) -> None:
        """Use few images, to lose little time."""
        model = unwrap_model(runner.model)
        check_images(
            self.cfg, model, train=runner.train_loop, val=runner.val_loop
        )
        with naming_keys(self.cfg, 'train_dataloader'):
            loader = runner.train_loop.dataloader
            batch = few_images(loader, IMAGES, 'train')
            check_batch('train', batch)
        with naming_keys(self.cfg, 'model.data_preprocessor'):
            check_normalization(model, batch)
        weights = FirstWeights(model, self.loaded)
        for key, _, optims in phases_of(runner):
            batch = few_images(runner.train_loop.dataloader, IMAGES)
            with (
                naming_keys(self.cfg, key),
                weights.watching(key, optims or (), copied_in(runner, key)),
            ):
                train_once(model, batch, optims)
            expect(runner, key, seconds_of_step(model, batch, optims))
        if runner.val_loop is not None:
            self.validate(runner, runner.val_loop)

    def validate(self, runner: Runner, loop: Any) -> None:
        """Predict and score one image."""
        with naming_keys(self.cfg, 'val_dataloader'):
            batch = few_images(loop.dataloader, 1, 'val')
            check_batch('val', batch)
        with naming_keys(self.cfg, 'model.test_cfg'):
            outputs = predict_once(unwrap_model(runner.model), batch)
        with naming_keys(self.cfg, 'val_evaluator'):
            check_best(runner, score_once(loop.evaluator, batch, outputs))
