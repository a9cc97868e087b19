"""Every config in configs/ builds, part by part, without its data."""

import copy
from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmseg.registry import DATASETS, HOOKS, METRICS, MODELS

from mmcar.engine import Schedule
from tests.test_tools.project import ROOT

CONFIGS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / 'configs').rglob('*.py')
    if '_base_' not in path.parts
)


def as_list(value: object) -> list:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def test_there_are_configs():
    names = {Path(config).name for config in CONFIGS}
    assert 'car_deeplabv3_cityscapes24.py' in names
    assert 'car_lidc-shapes.py' in names


@pytest.mark.parametrize('path', CONFIGS)
def test_builds(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    cfg = Config.fromfile(path)
    assert cfg.custom_imports.imports == ['mmcar']
    model = MODELS.build(copy.deepcopy(cfg.model))
    for split in ('train', 'val', 'test'):
        loader = cfg.get(f'{split}_dataloader')
        if loader is not None:
            # Lazily: the data need not be there, the pipeline must build.
            dataset = dict(loader.dataset, lazy_init=True)
            assert DATASETS.build(dataset).pipeline.transforms
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
    if cfg.get('train_cfg') and 'phases' in cfg.train_cfg:
        optims = build_optim_wrapper(model, copy.deepcopy(cfg.optim_wrapper))
        trained = set(Schedule(cfg.train_cfg.phases).networks)
        assert trained <= set(optims.keys()) <= set(model.networks())
