"""What a training would do, tried out and told, without doing it."""

import copy
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.hooks import CheckpointHook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn

from ..engine import unwrap_model
from .config_check import check_config
from .config_errors import naming_keys
from .first_look import check_packed, number_of_validations
from .first_weights import FirstWeights
from .rehearsal import (
    RehearsalHook,
    check_batch,
    check_best,
    check_images,
    check_normalization,
    copied_in,
    first_keys,
    phases_of,
    predict_once,
    score_once,
    train_once,
    untouched,
)
from .training import build_runner, train

GIGABYTE = 2**30
LONG = 5.0  # seconds


def dry_run(cfg: Config) -> str:
    """Build all, load a batch of every loader, try every phase.

    Nothing is trained and nothing is kept: files go to a temporary folder.

    Args:
        cfg: The config, with a ``work_dir``.

    Returns:
        A report for people: sizes, parameters, memory, times, plans.

    Raises:
        UserError: Naming the key that is wrong.
    """
    check_config(cfg)
    work_dir = cfg.work_dir
    with tempfile.TemporaryDirectory(prefix='mmcar_dry_run_') as folder:
        cfg.work_dir = folder
        cfg.log_level = 'WARNING'  # the report is what counts
        if isinstance(cfg.get('visualizer'), dict):
            # Known by its name for as long as the process lives.
            name = Path(folder).name
            cfg.visualizer.update(name=name, vis_backends=None)
        runner = build_runner(cfg, progress=False)  # nothing is trained
        trial = Trial(cfg)
        only_test = cfg.get('train_cfg') is None and cfg.get('test_cfg')
        if only_test:
            trial.try_test(runner)
        else:
            train(runner, trial)
    lines = [
        f'Model        {_kind(runner.model)}',
        *_parameters(unwrap_model(runner.model)),
        *trial.lines,
        f'Memory       {_memory()}',
    ]
    if not only_test:
        lines += [
            f'Checkpoints  {_checkpoints(runner)}, in {work_dir}',
            f'Total        about {_duration(trial.seconds)}',
        ]
    return '\n'.join(lines)


class Trial(RehearsalHook):
    """A rehearsal with whole batches that is timed, and then stops.

    Args:
        cfg: The config.
    """

    def __init__(self, cfg: Config) -> None:
        super().__init__(cfg)
        self.lines: list[str] = []
        self.seconds = 0.0

    def before_train(self, runner: Runner) -> None:
        """Try everything, then let the training end before it begins."""
        super().before_train(runner)
        loop = runner.train_loop
        loop.stop_training = True
        if runner.val_loop is not None and not number_of_validations(runner):
            self.tell(
                runner,
                f'train_cfg.val_begin={loop.val_begin} is after the end of '
                'the training: nothing is ever validated.',
            )

    def tell(self, runner: Runner, sentence: str) -> None:
        """Put it into the report."""
        self.lines.append(f'Mind         {sentence}')

    def rehearse(self, runner: Runner) -> None:
        """Use whole batches, as training does."""
        loop, model = runner.train_loop, unwrap_model(runner.model)
        check_images(
            self.cfg,
            model,
            train=loop,
            val=runner.val_loop,
            test=runner.test_loop,
        )
        self.lines.append('Data')
        batch = self._load('train', loop.dataloader)
        with naming_keys(self.cfg, 'model.data_preprocessor'):
            check_normalization(model, batch)
        phases = []
        weights = FirstWeights(model, self.loaded)
        for key, iterations, optims in phases_of(runner):
            with (
                naming_keys(self.cfg, key),
                weights.watching(key, optims or (), copied_in(runner, key)),
            ):
                each = _time_training(model, batch, optims)
            self.seconds += each * iterations
            names = ', '.join(optims or ['all networks'])
            phases.append(
                f'  {key:<20} {iterations:>8} iterations of {names}: '
                f'{each:.3g} s each, {_duration(each * iterations)}'
            )
        scores = [
            self._try_loop(runner, split, loop)
            for split, loop in (
                ('val', runner.val_loop),
                ('test', runner.test_loop),
            )
            if loop is not None
        ]
        self.lines += ['Phases', *phases, *scores]

    def try_test(self, runner: Runner) -> None:
        """Try a config that is only tested, as one without training is."""
        with naming_keys(self.cfg, 'test_dataloader'):
            loop = runner.test_loop
        model = unwrap_model(runner.model)
        for name in FirstWeights(model).random_boxes():
            self.tell(
                runner,
                f'model.{name}.checkpoint is not set: its weights are random '
                'unless the test is given a checkpoint of the whole.',
            )
        with untouched(model):
            check_images(self.cfg, model, test=loop)
            self.lines.append('Data')
            self.lines.append(self._try_loop(runner, 'test', loop))

    def _load(self, split: str, loader: Any) -> Any:
        """Load a batch by the loader's own workers, and describe it."""
        with naming_keys(self.cfg, f'{split}_dataloader'):
            for key in first_keys(loader, 1):
                check_packed(split, loader.dataset[key])
            batch = next(iter(loader))
            check_batch(split, batch)
        images, samples = batch['inputs'], batch['data_samples']
        self.lines.append(
            f'  {split:<6} {len(loader.dataset)} images, '
            f'{len(images)} in a batch: inputs {_shapes(images)}, labels '
            f'{_shapes(_labels(samples))}'
        )
        return batch

    def _try_loop(self, runner: Runner, split: str, loop: Any) -> str:
        """Predict and score one image of a validation or test."""
        model = unwrap_model(runner.model)
        batch = self._load(split, loop.dataloader)
        one = dict(
            inputs=batch['inputs'][:1], data_samples=batch['data_samples'][:1]
        )
        with naming_keys(self.cfg, 'model.test_cfg'):
            outputs = predict_once(model, copy.deepcopy(one))
            each = _time(lambda: predict_once(model, copy.deepcopy(one)))
        with naming_keys(self.cfg, f'{split}_evaluator'):
            scores = score_once(loop.evaluator, one, outputs)
        whole = each * len(loop.dataloader.dataset)
        when = 'by tools/test.py'
        if split == 'val':
            check_best(runner, scores)
            times = number_of_validations(runner)
            self.seconds += times * whole
            when = f'{times} times'
        shown = [name for name in scores if not name.endswith('_left_out')]
        return (
            f'{"Validation" if split == "val" else "Test":<12} {when}, '
            f'{each:.3g} s per image, {_duration(whole)} each: '
            f'{", ".join(shown)}'
        )


def _time_training(
    model: BaseModel, batch: Any, optims: Mapping | None
) -> float:
    """Seconds of a training step, see `_time`."""
    return _time(lambda: train_once(model, copy.deepcopy(batch), optims))


def _time(step: Callable[[], Any]) -> float:
    """Seconds of a step; a short one again, as the first is slow."""
    for _ in range(2):
        _synchronize()
        start = time.perf_counter()
        step()
        _synchronize()
        seconds = time.perf_counter() - start
        if seconds > LONG:
            break
    return seconds


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _labels(samples: Any) -> list[torch.Tensor]:
    """All annotators' labels where they are kept, else the drawn one."""
    return [
        sample.get('gt_sem_segs', sample.get('gt_sem_seg')).data
        for sample in samples
        if 'gt_sem_segs' in sample or 'gt_sem_seg' in sample
    ]


def _shapes(tensors: Any) -> str:
    """The shapes there are, e.g. 3x64x64."""
    shapes = {'x'.join(map(str, tensor.shape)) for tensor in tensors}
    return ' and '.join(sorted(shapes)[:3]) or 'none'


def _kind(model: nn.Module) -> str:
    model = unwrap_model(model)
    classes = getattr(model, 'num_classes', None)
    number = f', {classes} classes' if classes else ''
    return f'{type(model).__name__}{number}'


def _parameters(model: nn.Module) -> list[str]:
    """Parameters of each network that can be trained, and of all."""
    networks = dict(getattr(model, 'networks', dict)())
    return [
        f'  {name:<16} {sum(p.numel() for p in net.parameters()):>12,} '
        'parameters'
        for name, net in {**networks, 'all': model}.items()
    ]


def _checkpoints(runner: Runner) -> str:
    hooks = [h for h in runner.hooks if isinstance(h, CheckpointHook)]
    if not hooks:
        return 'none'
    hook = hooks[0]
    unit = 'epochs' if hook.by_epoch else 'iterations'
    kept = (
        f'the last {hook.max_keep_ckpts}' if hook.max_keep_ckpts > 0 else 'all'
    )
    best = f', and the best {hook.save_best}' if hook.save_best else ''
    return f'every {hook.interval} {unit}, {kept} kept{best}'


def _memory() -> str:
    """The most that this process has used."""
    if torch.cuda.is_available():
        used = torch.cuda.max_memory_allocated() / GIGABYTE
        return f'{used:.2f} GB of the GPU at most'
    if sys.platform == 'win32':
        return 'unknown on this system'
    import resource  # not on Windows

    unit = 1 if sys.platform == 'darwin' else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return f'{used / GIGABYTE:.2f} GB at most'


def _duration(seconds: float) -> str:
    """Seconds in words."""
    for size, unit in ((86400, 'days'), (3600, 'h'), (60, 'min')):
        if seconds >= size:
            return f'{seconds / size:.1f} {unit}'
    return f'{seconds:.1f} s'
