"""Predicting many images with a black box, in one process or several."""

import importlib
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from mmengine.registry import DefaultScope
from mmseg.registry import MODELS

from ..datasets.black_box_cache import SETTINGS, decode, encode
from ..datasets.image_files import read_image
from ..models.black_boxes.full_image import resize_probs
from ..structures import check_predicted
from ..utils.errors import UserError
from ..utils.files import write_file, write_json
from ..utils.progress import track

MOST_CLASSES = 256  # ids of 8 bits
COARSEST = 2 * 10**9  # nanoseconds that some file systems round times to


class Loss(NamedTuple):
    """How far stored probabilities are from those that were predicted."""

    largest_error: float
    mean_error: float


class Worker:
    """A black box on its device, and what it makes files of.

    Args:
        black_box: Config of a ``BlackBox``.
        form: Form of the files.
        scale: Width and height of the files.
        device: Where it predicts.
    """

    def __init__(
        self, black_box: dict, form: str, scale: list[int], device: str
    ) -> None:
        with DefaultScope.overwrite_default_scope('mmseg'):
            self.black_box = MODELS.build(black_box).to(device)
        self.device, self.form, self.size = device, form, (scale[1], scale[0])

    @torch.no_grad()
    def write(self, target: Path, path: str) -> Loss:
        """Predict one image and write its file."""
        image = read_image(path)
        if image.dtype != np.uint8:
            raise UserError(
                f'{path}: {image.dtype}; expected an image of 8 bits'
            )
        tensor = torch.from_numpy(image.transpose(2, 0, 1).copy())
        probs, _ = self.black_box.predict_file(tensor.to(self.device))
        probs = resize_probs(probs, self.size).cpu().numpy()
        data = encode(probs, self.form)
        stored = decode(data, self.form, len(probs))
        write_file(target, data)
        seen = os.stat(path).st_mtime_ns
        if seen > target.stat().st_mtime_ns:  # a clock that is ahead
            later = seen + COARSEST - seen % COARSEST
            os.utime(target, ns=(later, later))
        error = np.abs(stored - probs)
        return Loss(float(error.max()), float(error.mean()))


def predict_all(
    plan: Any,
    todo: dict[Path, str],
    jobs: int | None,
    imports: dict | None = None,
) -> Loss:
    """Predict and write.

    Args:
        plan: The ``CachePlan``.
        todo: Images by the files to write.
        jobs: Number of processes; None: one per GPU.
        imports: ``custom_imports`` of the config.

    Returns:
        The loss of precision over all files written.
    """
    gpus = torch.cuda.device_count()
    jobs = min(jobs or gpus or 1, len(todo))
    settings = plan.settings
    arguments = plan.black_box, settings['form'], settings['scale']
    # Built here first, so that mistakes are told once.
    alone = 'cuda:0' if gpus and jobs == 1 else 'cpu'
    first = Worker(*arguments, alone)
    classes = first.black_box.num_classes
    check_predicted(
        classes, plan.metainfo, f'the black box {settings["config"]}'
    )
    if classes > MOST_CLASSES:
        raise UserError(
            f'the black box predicts {classes} classes; a cache keeps '
            f'{MOST_CLASSES}.'
        )
    write_json(plan.folder / SETTINGS, {**settings, 'num_classes': classes})
    if jobs == 1:
        alone_results = (first.write(*item) for item in todo.items())
        return _sum_up(track(alone_results, 'predictions', len(todo)))
    del first
    names = (imports or {}).get('imports') or ['mmcar']
    context = multiprocessing.get_context('spawn')
    given = (arguments, gpus, jobs, context.Value('i', 0), list(names))
    with ProcessPoolExecutor(jobs, context, _start, given) as pool:
        try:
            results = pool.map(_write, todo.items())
            return _sum_up(track(results, 'predictions', len(todo)))
        except BrokenProcessPool as error:
            raise UserError(
                f'{plan.folder}: a process that predicts was killed, often '
                'for lack of memory. What is predicted is kept: run it again, '
                'with fewer --jobs.'
            ) from error


_worker: Worker | None = None  # one per process of the pool


def _start(
    arguments: tuple[dict, str, list[int]],
    gpus: int,
    jobs: int,
    numbers: Any,
    imports: list[str],
) -> None:
    global _worker
    for name in imports:
        importlib.import_module(name)
    with numbers.get_lock():
        number = numbers.value
        numbers.value += 1
    if not gpus:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    device = f'cuda:{number % gpus}' if gpus else 'cpu'
    _worker = Worker(*arguments, device)


def _write(item: tuple[Path, str]) -> Loss:
    assert _worker is not None  # the pool has started it
    return _worker.write(*item)


def _sum_up(results: Iterable[Loss]) -> Loss:
    largest, mean = zip(*results, strict=True)
    return Loss(max(largest), fmean(mean))
