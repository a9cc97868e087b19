"""Where the processor time of whole trainings and tests goes.

MMEngine's runner trains and tests real models on drawn images. ``networks``
is forward and backward passes and optimisers, in a test encoding and
sampling, up to the samples' label maps and mean; ``metrics`` GED, HM-IoU,
calibration and mIoU; ``writing`` the files of ``--out`` or the figures of
``--show-dir``, in a thread; ``data`` the loader; ``rest`` all else: loop,
hooks, logs, preprocessing, resizing. The first iterations or images do not
count. Of several turns of all cases, that with the median share of networks
is shown.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from mmengine.config import Config
from mmengine.evaluator import Evaluator
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper
from mmengine.runner import Runner
from mmseg.registry import DATASETS
from torch.utils.data import Dataset

from mmcar.models import CARSegmentor
from mmcar.models.segmentors.sample_maps import SampleMaps
from mmcar.utils.background import BackgroundWriter

from .data import shorten
from .worker import CLASSES_24, batch

CONFIGS = Path(__file__).parents[3] / 'configs'
METRICS = ('GEDMetric', 'HMIoUMetric', 'CalibrationMetric', 'FiniteIoUMetric')
HOOKS = {'--out': 'SaveSamplesHook', '--show-dir': 'DrawSamplesHook'}
WARMUP = 2
PARTS = ('networks', 'metrics', 'writing', 'data', 'rest')


@DATASETS.register_module()
class DrawnImages(Dataset):
    """Images with four annotators each, drawn when they are asked for.

    Args:
        side: Height; twice the width where there are more than two classes.
        classes: Number of classes.
        number: Number of images.
        scale: How many times as large images and labels are on disk.
    """

    def __init__(
        self, side: int, classes: int, number: int, scale: int
    ) -> None:
        self.size = side, side if classes == 2 else 2 * side
        self.scale = scale
        self.metainfo = dict(classes=[str(k) for k in range(classes)])
        self.number = number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, index: int) -> dict:
        height, width = self.size
        size = height * self.scale, width * self.scale
        drawn = batch(size, 1)
        sample = drawn['data_samples'][0]
        sample.set_metainfo(
            dict(
                img_path=f'p/{index}.png',
                sample_key=f'p/{index}',
                img_shape=self.size,
            )
        )
        image = drawn['inputs'][0][:, :: self.scale, :: self.scale]
        return dict(inputs=image, data_samples=sample)


class Parts:
    """Processor seconds of the parts of a run."""

    def __init__(self) -> None:
        self.begin()

    def timed(self, part: str, owner: Any, name: str) -> Any:
        """Count the time in a method as that of a part, while patched."""
        method = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds[part] += time.thread_time() - start

        return mock.patch.object(owner, name, call)

    def begin(self) -> None:
        """Forget what was counted until now."""
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.start = time.process_time()

    @contextmanager
    def of_a_run(self) -> Iterator[None]:
        """Count the parts of what runs inside, from `begin` on."""
        with ExitStack() as stack:
            for part, owner, name in (
                ('networks', CARSegmentor, 'losses'),
                ('networks', OptimWrapper, 'update_params'),
                ('networks', CARSegmentor, 'encode'),
                ('networks', CARSegmentor, 'sample'),
                ('networks', CARSegmentor, 'sample_labels'),
                ('networks', SampleMaps, 'add_probs'),
                ('metrics', Evaluator, 'process'),
                ('metrics', Evaluator, 'evaluate'),
                ('writing', BackgroundWriter, '_write'),
                ('data', DrawnImages, '__getitem__'),
            ):
                stack.enter_context(self.timed(part, owner, name))
            yield
            total = time.process_time() - self.start
        self.seconds['rest'] = total - sum(self.seconds.values())

    def row(self, case: str, number: int) -> dict:
        """Seconds per iteration or image, and the share of each part."""
        total = sum(self.seconds.values())
        shares = {part: self.seconds[part] / total for part in PARTS}
        return dict(case=case, seconds=total / number, **shares)


class BeginHook(Hook):
    """Begins to count at an iteration or image.

    Args:
        parts: What counts.
        at: Number of the iteration.
    """

    def __init__(self, parts: Parts, at: int) -> None:
        self.parts, self.at = parts, at

    def before_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None
    ) -> None:
        """Begin, if it is time."""
        if batch_idx == self.at:
            self.parts.begin()

    before_test_iter = before_train_iter


def loader(
    side: int, classes: int, number: int, size: int, scale: int = 1
) -> dict:
    """Config of a loader of drawn images."""
    return dict(
        batch_size=size,
        num_workers=0,
        sampler=dict(type='InfiniteSampler')
        if size > 1
        else dict(type='DefaultSampler', shuffle=False),
        dataset=dict(
            type='DrawnImages',
            side=side,
            classes=classes,
            number=number,
            scale=scale,
        ),
    )


def train_rows(name: str, side: int, size: int, iters: int) -> list[dict]:
    """Train each phase of a config; one row per phase."""
    rows = []
    phases = Config.fromfile(CONFIGS / name).train_cfg.phases
    for index, phase in enumerate(phases):
        config = Config.fromfile(CONFIGS / name)
        config.train_cfg.phases = [dict(phase)]
        config.train_cfg.phases[0].pop('copy', None)
        for network in ('calibration', 'generator', 'discriminator'):
            if network not in phase.train:
                config.optim_wrapper[network] = None
        config.train_dataloader = loader(side, 2, 64, size)
        config.test_dataloader = config.test_cfg = None
        config.test_evaluator = None
        with tempfile.TemporaryDirectory() as folder:
            config = shorten(config, WARMUP + iters, folder)
            config.param_scheduler = None
            runner = Runner.from_cfg(config)
            parts = Parts()
            runner.register_hook(BeginHook(parts, WARMUP))
            with parts.of_a_run():
                runner.train()
        case = f'training, {name}, phase {index + 1}, {side}x{side}'
        rows.append(parts.row(f'{case}, batch {size}', iters))
    return rows


def test_row(
    side: int,
    classes: int,
    samples: int,
    option: str,
    scale: int,
    number: int,
) -> dict:
    """Test the paper's networks, untrained, with an option of the tool."""
    config = Config.fromfile(CONFIGS / 'car/car_lidc.py')
    if classes > 2:
        changes = {f'model.{key}': v for key, v in CLASSES_24.items()}
        config.merge_from_dict(changes)
    config.model.test_cfg = dict(num_samples=samples)
    config.test_dataloader = loader(side, classes, 1 + number, 1, scale)
    config.test_evaluator = [
        dict(type=kind, num_samples=samples)
        if kind[:2] in ('GE', 'HM')
        else dict(type=kind)
        for kind in METRICS
    ]
    for key in ('train_dataloader', 'optim_wrapper', 'param_scheduler'):
        config[key] = None
    with tempfile.TemporaryDirectory() as folder:
        config.custom_hooks = [dict(type=HOOKS[option], out_dir=folder)]
        config = shorten(config, 1, folder)
        config.train_cfg = None
        runner = Runner.from_cfg(config)
        runner.test_loop  # noqa: B018 (built before the clock starts)
        parts = Parts()
        runner.register_hook(BeginHook(parts, 1))
        with parts.of_a_run():
            runner.test()
    width = side if classes == 2 else 2 * side
    size = f'{side}x{width}'
    if scale > 1:
        size += f' of {scale * side}x{scale * width}'
    case = f'test, {size}, {classes} classes, {samples} samples, {option}'
    return parts.row(case, number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--iters', type=int, default=60)
    parser.add_argument('--images', type=int, default=5)
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument(
        '--shrink', type=int, default=1, help='divide image sides by this'
    )


def turn(args: argparse.Namespace) -> list[dict]:
    """Measure every case once."""
    small, large = 128 // args.shrink, 256 // args.shrink
    rows = train_rows(
        'quickstart/car_lidc-shapes.py', 64 // args.shrink, 8, args.iters
    )
    rows += train_rows('car/car_lidc.py', small, 2, max(args.iters // 20, 2))
    for case in (
        (small, 2, 16, '--out', 1),
        (small, 2, 100, '--out', 1),
        (large, 24, 16, '--out', 1),
        (large, 24, 16, '--out', 2),
        (small, 2, 16, '--show-dir', 1),
    ):
        rows.append(test_row(*case, args.images))
    return rows


def run(args: argparse.Namespace) -> list[dict]:
    """Measure; print and return the rows."""
    turns = [turn(args) for _ in range(args.repeats)]
    rows = []
    for own in zip(*turns, strict=True):
        row = sorted(own, key=lambda row: row['networks'])[len(own) // 2]
        shares = ' '.join(f'{part} {row[part]:.1%}' for part in PARTS)
        print(f'  {row["case"]:66}{row["seconds"]:8.3f} s  {shares}')
        rows.append(row)
    return rows
