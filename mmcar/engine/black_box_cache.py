"""Caches of a black box: which a config needs, and making them."""

import hashlib
import importlib
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.registry import DATASETS, MODELS, TRANSFORMS

from ..datasets.image_files import read_image
from ..datasets.transforms import black_box as cache
from ..models.black_boxes import FrozenBlackBox
from ..models.black_boxes.full_image import resize_probs
from ..structures import KeyOwners, check_predicted, sample_key
from ..utils.errors import UserError
from ..utils.files import InUseError, claim_folder, write_file, write_json
from ..utils.progress import track

MOST_CLASSES = 256  # ids of 8 bits
COARSEST = 2 * 10**9  # nanoseconds that some file systems round times to


#: How far what is stored is from what was predicted: at most, on average.
Loss: TypeAlias = tuple[float, float]


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
            raise UserError(f'{path}: {image.dtype}; expected 8 bits')
        tensor = torch.from_numpy(image.transpose(2, 0, 1).copy())
        probs, _ = self.black_box.predict_file(tensor.to(self.device))
        probs = resize_probs(probs, self.size).cpu().numpy()
        data = cache.encode(probs, self.form)
        stored = cache.decode(data, self.form, len(probs))
        write_file(target, data)
        seen = os.stat(path).st_mtime_ns
        if seen > target.stat().st_mtime_ns:  # a clock that is ahead
            later = seen + COARSEST - seen % COARSEST
            os.utime(target, ns=(later, later))
        error = np.abs(stored - probs)
        return float(error.max()), float(error.mean())


def predict_all(
    plan: 'CachePlan', todo: dict[Path, str], jobs: int | None
) -> Loss:
    """Predict and write.

    Args:
        plan: What the cache holds.
        todo: Images by the files to write.
        jobs: Number of processes; None: one per GPU.

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
    name = f'the black box {settings["config"]}'
    check_predicted(classes, plan.metainfo, name)
    if classes > MOST_CLASSES:
        raise UserError(f'{name}: more than {MOST_CLASSES} classes.')
    made = {**settings, 'num_classes': classes}
    write_json(plan.folder / cache.SETTINGS, made)
    if jobs == 1:
        alone_results = (first.write(*item) for item in todo.items())
        return _sum_up(track(alone_results, 'predictions', len(todo)))
    del first
    context = multiprocessing.get_context('spawn')
    given = (arguments, gpus, jobs, context.Value('i', 0), plan.imports)
    with ProcessPoolExecutor(jobs, context, _start, given) as pool:
        try:
            results = pool.map(_write, todo.items())
            return _sum_up(track(results, 'predictions', len(todo)))
        except BrokenProcessPool as error:
            raise UserError(
                f'{plan.folder}: a process was killed, often for lack of '
                'memory. Go on with fewer --jobs.'
            ) from error


_worker: Worker | None = None  # one per process of the pool


def _start(
    arguments: tuple[dict, str, list[int]],
    gpus: int,
    jobs: int,
    numbers: Any,
    imports: Sequence[str],
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
    return max(largest), fmean(mean)


SPLITS = ('train_dataloader', 'val_dataloader', 'test_dataloader')
IDENTITY = ('model', 'weights', 'form', 'scale')
LOOK_AGAIN = 5.0  # seconds


@dataclass
class CachePlan:
    """A cache that a config needs.

    Args:
        folder: Where it is.
        black_box: Config of B.
        settings: What its content depends on, for ``settings.json``.
        images: Paths of the images by the files of their predictions.
        metainfo: Of the data set, which says what classes B may have.
        imports: Modules that processes import first.
    """

    folder: Path
    black_box: dict
    settings: dict
    images: dict[Path, str]
    metainfo: dict
    imports: Sequence[str] = ('mmcar',)

    def faults(self) -> dict[Path, str]:
        """What is wrong with predictions, see `cache_fault`, by file."""
        found = ((t, cache.cache_fault(t, p)) for t, p in self.images.items())
        return {target: fault for target, fault in found if fault}


def prepare_caches(cfg: Config, jobs: int | None = None) -> None:
    """Make what is missing of the caches that a config's pipelines read.

    Pipelines that name the parent of several caches are pointed to the one
    of this B. One process of a distributed run predicts, the others wait.

    Args:
        cfg: Config of a training or a test; its pipelines are changed.
        jobs: Processes to predict with; None: one per GPU.
    """
    for plan in plan_caches(cfg):
        make_cache(plan, jobs)


def plan_caches(cfg: Config) -> list[CachePlan]:
    """The caches that a config's pipelines read, their folders set in it."""
    plans: dict[Path, CachePlan] = {}
    owners = KeyOwners('the prediction')
    with DefaultScope.overwrite_default_scope('mmseg'):
        for split in SPLITS:
            for dataset in find_datasets(cfg.get(split)):
                for step in dataset['pipeline']:
                    kind, form = step.get('type'), step.get('form')
                    if kind != 'LoadBlackBoxProbs' or form not in cache.FORMS:
                        continue
                    plan = _plan(cfg, dataset, step, owners)
                    known = plans.setdefault(plan.folder, plan)
                    known.images.update(plan.images)
                    step['root'] = str(plan.folder)
    return list(plans.values())


def find_datasets(node: Any) -> Iterator[dict]:
    """Configs of data sets with a pipeline, wrapped ones included."""
    if isinstance(node, dict):
        if node.get('pipeline') and 'type' in node:
            yield node
        for value in node.values():
            yield from find_datasets(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from find_datasets(value)


def _plan(
    cfg: Config, dataset: dict, step: dict, owners: KeyOwners
) -> CachePlan:
    model = cfg.model.get('module') or cfg.model  # inside of TTA
    head = model.get('decode_head') or {}
    black_box = head.get('black_box') or {}
    kind = MODELS.get(black_box['type']) if black_box else None
    if not (isinstance(kind, type) and issubclass(kind, FrozenBlackBox)):
        raise UserError(
            f'LoadBlackBoxProbs(form={step["form"]!r}) reads predictions of '
            'model.decode_head.black_box, which must be of type BlackBox, '
            f'TorchBlackBox or OnnxBlackBox; found {black_box.get("type")!r}.'
        )
    settings: dict[str, Any] = dict(kind.identify(black_box))
    settings |= dict(form=step['form'], scale=list(step['scale']))
    if settings['form'] == 'labels' and not black_box.get('one_hot'):
        raise UserError(
            "LoadBlackBoxProbs(form='labels') gives decisions: set "
            'model.decode_head.black_box.one_hot=True, or another form.'
        )
    folder = _find_folder(Path(step['root']), settings)
    built = DATASETS.build({**dataset, 'pipeline': []})
    built.full_init()
    images: dict[Path, str] = {}
    steps = [s for s in dataset['pipeline'] if s.get('type') == 'ReadCopies']
    copies = [TRANSFORMS.build(step) for step in steps]
    for i in range(len(built)):
        record = built.get_data_info(i)
        for read_copy in copies:  # a missing one is told before the long part
            read_copy(dict(record))
        target = cache.cache_file(folder, sample_key(record), settings['form'])
        owners.claim(target, record['img_path'])
        images[target] = record['img_path']
    imports = (cfg.get('custom_imports') or {}).get('imports') or ('mmcar',)
    about = dict(black_box), settings, images, built.metainfo, imports
    return CachePlan(folder, *about)


def _find_folder(root: Path, settings: dict) -> Path:
    """The folder of a cache: the root itself, or one per B below it."""
    folder = root
    if not (root / cache.SETTINGS).is_file():
        identity = json.dumps([settings[key] for key in IDENTITY])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        name = f'{Path(settings["config"]).stem}-{digest}'
        folder = root if root.name == name else root / name
        if not (folder / cache.SETTINGS).is_file():
            return folder
    found = cache.read_settings(folder)
    differ = [key for key in IDENTITY if found.get(key) != settings[key]]
    if differ:
        raise UserError(
            f'{folder} is of another black box: {differ} differ; made with '
            f'{found.get("config")} and {found.get("checkpoint")}. Delete it, '
            'or name another root in LoadBlackBoxProbs.'
        )
    return folder


def make_cache(plan: CachePlan, jobs: int | None = None) -> None:
    """Predict what is missing, and say what the cache takes and loses.

    While another process does so this one waits, and takes over if that ends
    before it is done.
    """
    told = False
    while plan.faults():
        try:
            lock = claim_folder(plan.folder)
        except InUseError:
            if not told:
                print(f'{plan.folder}: another process fills it.', flush=True)
            told = True
            time.sleep(LOOK_AGAIN)
            continue
        with lock:
            if faults := plan.faults():
                _fill(plan, faults, jobs)
        return  # what is not fit now will not be by another attempt


def _fill(plan: CachePlan, faults: dict[Path, str], jobs: int | None) -> None:
    about, number = plan.settings, len(plan.images)
    counts = Counter(faults.values()).items()
    reasons = ', '.join(f'{count} {reason}' for reason, count in counts)
    print(
        f'{plan.folder}: making {len(faults)} of {number} predictions of the '
        f'black box {about["config"]} ({reasons}).',
        flush=True,
    )
    todo = {target: plan.images[target] for target in faults}
    largest, mean = predict_all(plan, todo, jobs)
    size = sum(target.stat().st_size for target in plan.images)
    width, height = about['scale']
    print(
        f'{plan.folder}: {number} predictions at {height}x{width}, '
        f'{size / 1e6:.1f} MB ({cache.FORMS[about["form"]]}); off by '
        f'{mean:.2g} on average, {largest:.2g} at most.',
        flush=True,
    )
