"""Every config builds, trains a step of each phase and samples."""

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmseg.registry import DATASETS, HOOKS, METRICS, MODELS, PARAM_SCHEDULERS

from mmcar.engine import Schedule
from mmcar.engine.optimizers import place_schedulers
from mmcar.models import StochasticSegmentor
from tests.test_tools.project import ROOT
from tests.toys import toy_batch

FILES = sorted((ROOT / 'configs').rglob('*.py'))
BASES = [path for path in FILES if '_base_' in path.parts]
CONFIGS = [str(path.relative_to(ROOT)) for path in FILES if path not in BASES]

SEEN: set[str] = set()


def as_list(value: object) -> list:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def test_bases_know_of_no_work_dir():
    check_bases(BASES)


def check_bases(bases: Sequence[Path]) -> None:
    """What others build on must not depend on files of one machine."""
    assert bases
    for path in bases:
        assert 'work_dirs' not in path.read_text(), path


def test_configs_are_short():
    for path in FILES:
        if path.name == 'my_data.py':
            continue  # a template that is copied stands for itself
        assert len(path.read_text().splitlines()) <= 40, path


def build_model(cfg: Config) -> torch.nn.Module:
    """The config's model without weights of others, for few samples."""
    model = copy.deepcopy(cfg.model)
    black_box = model.get('decode_head', {}).get('black_box')
    if black_box is not None:
        black_box.checkpoint = None
    if 'num_samples' in (model.get('train_cfg') or {}):
        model.train_cfg.num_samples = min(model.train_cfg.num_samples, 2)
    if 'num_samples' in (model.get('test_cfg') or {}):
        model.test_cfg.num_samples = 2
    if 'image_size' in (model.get('discriminator') or {}):
        model.discriminator.image_size = (32, 32)
    return MODELS.build(model)


def tiny_batch(model: torch.nn.Module, class_flips: Sequence = ()) -> dict:
    """Images whose labels have no twins: those are the last ids."""
    batch = toy_batch(
        size=(32, 32), num_classes=model.num_classes - len(class_flips)
    )
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(class_flips=class_flips))
    return batch


@pytest.mark.parametrize('path', CONFIGS)
def test_builds(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    check_config(path)


def check_config(path: str) -> None:
    """Build all that a config names, and let the model make its steps."""
    cfg = Config.fromfile(path)
    assert cfg.custom_imports.imports[0] == 'mmcar'
    for split in ('train', 'val', 'test'):
        loader = cfg.get(f'{split}_dataloader')
        if loader is not None:
            # Lazily: the data need not be there, the pipeline must build.
            dataset = DATASETS.build(dict(loader.dataset, lazy_init=True))
            assert dataset.pipeline.transforms
    flips = dataset.metainfo.get('class_flips', ())
    metrics = as_list(cfg.get('val_evaluator'))
    metrics += as_list(cfg.get('test_evaluator'))
    for metric in metrics:
        METRICS.build(copy.deepcopy(metric))
    # The visualiser's hook wants a running visualiser; it is MMSeg's anyway.
    hooks = dict(cfg.default_hooks, visualization=None)
    hooks = [*hooks.values(), *as_list(cfg.get('custom_hooks'))]
    for hook in hooks:
        if hook is not None:
            HOOKS.build(copy.deepcopy(hook))
    # Configs that differ in data and sample counts alone train alike.
    same = copy.deepcopy(cfg.model)
    for part in ('train_cfg', 'test_cfg'):
        (same.get(part) or {}).pop('num_samples', None)
    key = repr((same, cfg.get('train_cfg'), cfg.get('optim_wrapper')))
    if key in SEEN:
        return
    SEEN.add(key)
    model = build_model(cfg)
    if cfg.get('train_cfg') and 'phases' in cfg.train_cfg:
        optims = build_optim_wrapper(model, copy.deepcopy(cfg.optim_wrapper))
        schedule = Schedule(cfg.train_cfg.phases)
        trained = set(schedule.networks)
        assert trained <= set(optims.keys()) <= set(model.networks())
        placed = place_schedulers(cfg.get('param_scheduler'), schedule) or {}
        for name, schedulers in placed.items():
            for scheduler in schedulers:
                PARAM_SCHEDULERS.build(
                    scheduler, default_args=dict(optimizer=optims[name])
                )
                assert scheduler.get('begin', 0) < schedule.span(name)[1]
        for phase in schedule.phases:
            log = model.train_step(
                tiny_batch(model, flips),
                {name: optims[name] for name in phase.train},
            )
            assert all(
                torch.isfinite(torch.as_tensor(v)) for v in log.values()
            )
    if isinstance(model, StochasticSegmentor):
        (sample, _) = model.eval().test_step(tiny_batch(model, flips))
        assert len(sample.pred_samples.data) == model.test_cfg['num_samples']
