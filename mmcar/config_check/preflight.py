"""All that a run will do, tried once before it begins.

An item of every loader, a step of every phase, a scored image: what would
fail in a later phase or in the first validation, hours from now, fails at
once. The model, random numbers and files stay as they are.
"""

import copy
import itertools
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import InfiniteSampler
from mmengine.hooks import CheckpointHook, EarlyStoppingHook, Hook
from mmengine.logging import MessageHub, MMLogger
from mmengine.runner import Runner
from torch import nn

from ..datasets import looks
from ..engine import PhaseTimerHook, unwrap_model
from ..engine.checkpoints import check_resumed, check_started
from ..engine.optimizers import NoUpdate
from ..engine.progress import validations
from ..evaluation.metrics.names import better
from ..models.black_boxes import BlackBox, check_black_boxes
from ..structures import refuse_shared_keys
from ..utils.errors import UserError
from .build import Trace
from .findings import ConfigError, Finding, Found, error, warning
from .plan import Plan


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Leave no trace in a model or in the random numbers."""
    hub = MessageHub.get_current_instance()
    info = dict(hub.runtime_info)
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    gradients = [(weight, weight.grad) for weight in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    states = random.getstate(), np.random.get_state()
    # No other GPU: each that is asked gets a context of this process.
    used = torch.cuda.is_initialized()
    gpus = [torch.cuda.current_device()] if used else []
    for weight, _ in gradients:
        weight.grad = None
    try:
        with torch.random.fork_rng(gpus):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        for buffer, before in buffers:
            buffer.detach().copy_(before)
        for weight, gradient in gradients:
            weight.grad = gradient
        for module, mode in modes:
            module.training = mode
        hub.runtime_info.clear()
        hub.runtime_info.update(info)


IMAGES = 2  # of a batch: batch norm needs more than one
LONG = 5.0  # seconds
RULE = 'preflight'
FAR = 100.0  # deviations from the mean; no image has such values
BYTE = 255


def judge(
    findings: list[Finding], strict: bool = False, plan: Plan | None = None
) -> None:
    """Raise what is surely wrong, and tell of what may be a mistake.

    Args:
        findings: Errors and warnings.
        strict: Whether warnings are errors.
        plan: Gets the warnings; without one they are logged.

    Raises:
        ConfigError: Listing every error, and the warnings.
    """
    if any(finding.sure or strict for finding in findings):
        raise ConfigError(*findings)
    if plan is not None:
        plan.warnings += findings
    for finding in findings if plan is None else ():
        MMLogger.get_current_instance().warning(str(finding))


class Preflight(Hook):
    """Tries what a training or a test will do, just before it begins.

    Args:
        cfg: The config.
        trace: Knows the paths of all that has been built.
        strict: Whether warnings are errors.
        plan: Gets what a user wants to know; with one, whole batches are
            tried and the training ends before it begins.
    """

    priority = 'LOWEST'

    def __init__(
        self, cfg: Config, trace: Trace, strict: bool, plan: Plan | None
    ) -> None:
        self.cfg, self.trace, self.plan = cfg, trace, plan
        self.judge = partial(judge, strict=strict, plan=plan)
        self.watch = ExitStack()
        self.loaded: set[str] = set()

    @staticmethod
    @contextmanager
    def watching(runner: Runner) -> Iterator[Any]:
        """Name the part that fails, until all has been tried.

        Args:
            runner: Gives its preflight, if it has one.
        """
        with ExitStack() as watch:
            flight = None
            for hook in [h for h in runner.hooks if isinstance(h, Preflight)]:
                flight, hook.watch = hook, watch
                watch.enter_context(hook.trace.building())
                watch.enter_context(hook.trace.at('', RULE))
                watch.enter_context(hook.trace.beginning(runner.hooks))
            yield flight

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Look at what a training starts from."""
        self.loaded = {*checkpoint.get('state_dict', checkpoint)}
        if self.cfg.get('resume'):
            check_resumed(runner, checkpoint)
        elif self.cfg.get('load_from'):
            check_started(runner, checkpoint)

    def before_train(self, runner: Runner) -> None:
        """Try every phase and validation; with a plan, a test, and stop."""
        loops = dict(train=runner.train_loop, val=runner.val_loop)
        if self.plan is not None:
            loops['test'] = runner.test_loop
            runner.train_loop.stop_training = True
        self._try(runner, {k: v for k, v in loops.items() if v is not None})

    def before_test(self, runner: Runner) -> None:
        """Try the prediction and the scores of an image."""
        self._try(runner, dict(test=runner.test_loop))

    def _try(self, runner: Runner, loops: Mapping[str, Any]) -> None:
        model = unwrap_model(runner.model)
        datasets = {k: loop.dataloader.dataset for k, loop in loops.items()}
        with untouched(model), self.trace.running():
            for split, dataset in datasets.items():
                with self.trace.at(f'{split}_dataloader.dataset', RULE):
                    refuse_shared_keys(dataset)
                    metainfo = getattr(dataset, 'metainfo', None)
                    check_black_boxes(model, metainfo)
                for leaf in looks.leaves(dataset):
                    looks.refuse_clipped(leaf, self._at)
                    self.judge(wrong_step(self, leaf, split == 'train'))
            self.judge(shared_images(datasets))
            if 'train' in loops:
                self._train(runner, model)
            for split in [name for name in loops if name != 'train']:
                self._score(runner, model, split)
        self.watch.close()

    def _at(self, step: Any) -> AbstractContextManager:
        return self.trace.at(self.trace.path_of(step, 'pipeline'), RULE)

    def _load(self, split: str, loader: Any) -> Any:
        """A batch: a whole one for a plan, else a few images of it."""
        number = IMAGES if split == 'train' else 1
        with self.trace.at(f'{split}_dataloader', RULE):
            keys = first_keys(loader, min(number, loader.batch_size or 1))
            items = [loader.dataset[key] for key in keys]
            for item in items:
                check_item(split, item)
            if self.plan is None:
                return loader.collate_fn(items)
            batch = next(iter(loader))
        self.plan.add_batch(split, len(loader.dataset), batch)
        return batch

    def _train(self, runner: Runner, model: Any) -> None:
        """A step of every phase, timed for the plan and the ETA."""
        batch = self._load('train', runner.train_loop.dataloader)
        self.judge(other_units(model, batch['inputs']))
        self.judge(random_weights(runner, self.loaded))
        model.train()
        for key, iters, optims in phases_of(runner):
            with self.trace.at(key, RULE):
                times = 2 if self.plan is None else 6
                each = timed(model.train_step, batch, optims, times=times)
            for hook in runner.hooks:
                if isinstance(hook, PhaseTimerHook) and hook.left is not None:
                    hook.left.tried[int(key.partition('[')[2][:-1])] = each
            if self.plan is not None:
                names = ', '.join(optims) if key.endswith(']') else 'all'
                self.plan.add_phase(key, iters, names, each)

    @torch.no_grad()
    def _score(self, runner: Runner, model: Any, split: str) -> None:
        """Predict and score an image of a validation or test."""
        loop = runner.val_loop if split == 'val' else runner.test_loop
        batch = self._load(split, loop.dataloader)
        one = {key: value[:1] for key, value in batch.items()}
        model.eval()
        with self.trace.at('model.test_cfg', RULE):
            outputs = model.val_step(copy.deepcopy(one))
            each = timed(model.val_step, one) if self.plan else 0
        scores = self._scores(split, loop.evaluator, one, outputs)
        name, when = 'Test', 'by tools/test.py'
        images, times = len(loop.dataloader.dataset), 0
        if split == 'val':
            self.judge(best_score(runner, scores))
            times = validations(runner)
            name, when = 'Validation', f'{times} times'
        if self.plan is not None:
            self.plan.seconds += times * images * each
            self.plan.add_scores(name, when, each, images, scores)

    def _scores(
        self, split: str, evaluator: Any, batch: Any, outputs: Any
    ) -> list[str]:
        """Names of the scores that are reported; no file is written."""
        scores: list[str] = []
        samples = [output.to_dict() for output in outputs]
        logging.disable(logging.INFO)
        try:
            for metric in evaluator.metrics:
                trial = copy.deepcopy(metric)
                trial.csv_file = None
                place = f'{split}_evaluator'
                path = self.trace.path_of(metric)  # an equal one's, perhaps
                with self.trace.at(path if place in path else place, RULE):
                    trial.process(batch, samples)
                    names = list(trial.evaluate(len(samples)))
                    if twice := {*names} & {*scores}:
                        raise UserError(f'{twice} twice: set a prefix.')
                scores += names
        finally:
            logging.disable(logging.NOTSET)
        return scores


def check_item(split: str, item: Any) -> None:
    """Refuse what a pipeline made, if a model cannot take it."""
    packed = item if isinstance(item, Mapping) else {}
    place = f'{split}_dataloader.dataset.pipeline'
    if packed.get('inputs') is None or packed.get('data_samples') is None:
        raise UserError(f'{place}: let it end with PackStochasticInputs.')
    if split == 'train' and 'gt_sem_seg' not in packed['data_samples']:
        raise UserError(f'{place} loads no labels: add LoadMultiAnnotations.')


def first_keys(loader: Any, number: int) -> list[Any]:
    """What a loader asks its data set for first."""
    if isinstance(loader.sampler, InfiniteSampler):
        # It has one sequence only: looking at it would end it.
        return list(range(min(number, loader.sampler.size)))
    return list(itertools.islice(iter(loader.sampler), number))


def phases_of(runner: Runner) -> Iterator[tuple[str, int, Any]]:
    """Every phase: key, iterations, stand-ins for its optimisers."""
    schedule = getattr(runner.train_loop, 'schedule', None)
    if schedule is None:
        yield 'train_cfg', runner.train_loop.max_iters, NoUpdate(backward=True)
    for index, phase in enumerate(schedule.phases if schedule else ()):
        if phase.iters:
            optims = {name: NoUpdate(backward=True) for name in phase.train}
            yield f'train_cfg.phases[{index}]', phase.iters, optims


def timed(step: Callable, batch: Any, *args: Any, times: int = 2) -> float:
    """Seconds of a step, the median of several: the first one is slow."""
    seconds: list[float] = []
    while len(seconds) < times and sum(seconds) <= times * LONG / 2:
        start = time.perf_counter()
        step(copy.deepcopy(batch), *args)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:] or seconds)


@error
def wrong_step(flight: Preflight, leaf: Any, learnt: bool) -> Found:
    """A step that leaves image and labels of different sizes.

    Or labels to learn from that are but background and unlabelled. A warning
    if it drops annotators, or changes images at random that are scored.
    """
    path_of = flight.trace.path_of
    for step, text, sure in looks.step_faults(leaf, learnt, flight._at):
        yield path_of(step, 'pipeline'), text, sure
    if learnt and (found := looks.only_background(leaf)):
        yield f'{path_of(leaf, "train_dataloader.dataset")}.label_map', found


@warning
def shared_images(datasets: Mapping[str, Any]) -> Found:
    """Images that are both learnt from and scored."""
    files = {k: looks.files_of(dataset) for k, dataset in datasets.items()}
    for split in files.keys() - {'train'}:
        if shared := files.get('train', set()) & files[split]:
            text = f'{len(shared)} of {len(files[split])} are learnt from'
            yield f'{split}_dataloader.dataset', f'{text}, as {min(shared)}.'


@warning
def other_units(model: Any, images: list[torch.Tensor]) -> Found:
    """A mean or deviation for images of other units."""
    largest = max(float(image.abs().max()) for image in images)
    in_bytes = all(image.dtype == torch.uint8 for image in images)
    for key in ('mean', 'std'):
        found = getattr(model.data_preprocessor, key, None)
        numbers = [] if found is None else found.flatten().tolist()
        low, high = min(numbers, default=1), max(numbers, default=1)
        tiny = key == 'std' and (low <= 0 or low < 1 < largest / low / FAR)
        if tiny or (in_bytes and (low < 0 or high > BYTE)):
            text = f'{numbers}, but images have values up to {largest:g}.'
            yield f'model.data_preprocessor.{key}', text


@warning
def random_weights(runner: Runner, loaded: set[str]) -> Found:
    """A network or black box that nothing trains or loads."""
    model = unwrap_model(runner.model)
    phases = [optims for _, _, optims in phases_of(runner)]
    all_learn = any(isinstance(optims, NoUpdate) for optims in phases)
    trained = () if all_learn else {name for p in phases for name in p}
    idle = [
        network
        for name, network in getattr(model, 'networks', dict)().items()
        if not all_learn and name not in trained
    ]
    for name, module in model.named_modules():
        # One of a user's own may have loaded its weights itself.
        box = isinstance(module, BlackBox)
        keys = ('starts_trained', 'init_cfg')
        known = any(getattr(module, key, None) for key in keys)
        known = known or any(f'{name}.' in key for key in loaded)
        if (box or module in idle) and not known:
            yield f'model.{name}', 'its weights are random: load them.'


@error
def best_score(runner: Runner, scores: list[str]) -> Found:
    """A score to follow that is not reported, or whose worst is kept."""
    never = not validations(runner)
    for hook in runner.hooks:
        if isinstance(hook, CheckpointHook):
            key, names = 'default_hooks.checkpoint.save_best', hook.save_best
            rules = getattr(hook, 'rules', [None])
        elif isinstance(hook, EarlyStoppingHook):
            key, names = 'custom_hooks.monitor', hook.monitor
            rules = [hook.rule]
        else:
            continue
        names = [names] if isinstance(names, str) else names or ()
        for name, rule in zip(names, rules, strict=False):
            if never:
                yield key, 'train_cfg.val_begin is after the end.'
            elif name not in (*scores, 'auto'):
                yield key, f'{name!r} is none of {", ".join(scores)}.'
            elif None not in (rule, better(name)) and rule != better(name):
                yield key, f'{name!r} needs rule={better(name)!r}.'
