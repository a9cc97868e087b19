"""Caches of a black box: which a config needs, and making them."""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.registry import DATASETS, MODELS, TRANSFORMS

from ..datasets.black_box_cache import (
    FORMS,
    MISSING,
    SETTINGS,
    cache_fault,
    cache_file,
    read_settings,
)
from ..models.black_boxes import FrozenBlackBox
from ..structures import sample_key
from ..utils.errors import UserError
from ..utils.files import InUseError, claim_folder
from .black_box_jobs import predict_all

LOADER = 'LoadBlackBoxProbs'
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
    """

    folder: Path
    black_box: dict
    settings: dict
    images: dict[Path, str]
    metainfo: dict

    def faults(self) -> dict[Path, str]:
        """What is wrong with predictions, see `cache_fault`, by file."""
        found = ((t, cache_fault(t, p)) for t, p in self.images.items())
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
        make_cache(plan, jobs, cfg.get('custom_imports'))


def plan_caches(cfg: Config) -> list[CachePlan]:
    """The caches that a config's pipelines read, their folders set in it."""
    plans: dict[Path, CachePlan] = {}
    with DefaultScope.overwrite_default_scope('mmseg'):
        for split in SPLITS:
            for dataset in find_datasets(cfg.get(split)):
                for step in cached_steps(dataset):
                    plan = _plan(cfg, dataset, step)
                    known = plans.setdefault(plan.folder, plan)
                    _add_images(known.images, plan.images)
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


def cached_steps(dataset: dict) -> list[dict]:
    """The steps of a pipeline that read a cache."""
    steps = [s for s in dataset['pipeline'] if s.get('type') == LOADER]
    return [step for step in steps if step.get('form') in FORMS]


def _plan(cfg: Config, dataset: dict, step: dict) -> CachePlan:
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
        target = cache_file(folder, sample_key(record), settings['form'])
        _add_images(images, {target: record['img_path']})
    return CachePlan(folder, dict(black_box), settings, images, built.metainfo)


def _find_folder(root: Path, settings: dict) -> Path:
    """The folder of a cache: the root itself, or one per B below it."""
    folder = root
    if not (root / SETTINGS).is_file():
        identity = json.dumps([settings[key] for key in IDENTITY])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        name = f'{Path(settings["config"]).stem}-{digest}'
        folder = root if root.name == name else root / name
        if not (folder / SETTINGS).is_file():
            return folder
    found = read_settings(folder)
    differ = [key for key in IDENTITY if found.get(key) != settings[key]]
    if differ:
        raise UserError(
            f'{folder} holds predictions of another black box or another '
            f'form: {", ".join(differ)} differ; it was made with '
            f'{found.get("config")} and {found.get("checkpoint")}. Delete it, '
            'or name another root in LoadBlackBoxProbs.'
        )
    return folder


def _add_images(known: dict[Path, str], images: dict[Path, str]) -> None:
    """Refuse two images that would share a file."""
    for target, path in images.items():
        other = known.setdefault(target, path)
        if os.path.abspath(other) != os.path.abspath(path):
            raise UserError(
                f'{path} and {other} would both become {target}: give them '
                'other folders or stems.'
            )


def make_cache(
    plan: CachePlan, jobs: int | None = None, imports: dict | None = None
) -> None:
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
                _fill(plan, faults, jobs, imports)
        return  # what is not fit now will not be by another attempt


def _fill(
    plan: CachePlan,
    faults: dict[Path, str],
    jobs: int | None,
    imports: dict | None,
) -> None:
    unfit = sum(fault != MISSING for fault in faults.values())
    what = f'missing, {unfit} of them cut short or older than their image'
    print(
        f'{plan.folder}: {len(faults)} of {len(plan.images)} predictions of '
        f'the black box {plan.settings["config"]} are '
        f'{what if unfit else MISSING}; predicting them once, on the images '
        'as they lie on disk.',
        flush=True,
    )
    todo = {target: plan.images[target] for target in faults}
    report = predict_all(plan, todo, jobs, imports)
    size = sum(target.stat().st_size for target in plan.images)
    width, height = plan.settings['scale']
    print(
        f'{plan.folder}: {len(plan.images)} predictions at {height}x{width}, '
        f'{size / 1e6:.1f} MB ({FORMS[plan.settings["form"]]}); '
        f'probabilities are off by {report.mean_error:.2g} on average, '
        f'{report.largest_error:.2g} at most. {len(todo)} written now.',
        flush=True,
    )
