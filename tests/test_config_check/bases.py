"""Right configs, to be changed: small ones, and those of the docs."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.registry import MODELS

from tests.test_datasets.samples import write
from tests.test_tools.project import ROOT, loader, tiny_settings, write_data

CONFIGS = ROOT / 'configs'
STOCK = json.loads(Path(__file__).with_name('stock.json').read_text())
FOLDERS = ('images/{split}', 'annotations/{split}/{stem}/{reader}.png')
BESIDE = ('{split}/images', '{split}/gt/{stem}_l{reader}.png')


def small(folder: Path) -> dict:
    """A config that uses most of what there is, and its data."""
    write_data(folder)
    runtime = Config.fromfile(CONFIGS / '_base_/default_runtime.py')
    scheduler = dict(
        type='MultiStepLR', begin='phase', by_epoch=False, milestones=[2]
    )
    cfg = {
        **runtime.to_dict(),
        **tiny_settings(folder),
        'val_dataloader': loader(folder, 'val'),
        'val_cfg': dict(type='ValLoop'),
        'val_evaluator': [dict(type='GEDMetric', num_samples=3)],
        'param_scheduler': [scheduler],
    }
    return json.loads(json.dumps(cfg))  # nothing is shared between keys


def paint(
    folder: Path,
    paths: tuple[str, str] = FOLDERS,
    sizes: tuple[int, ...] = (64,),
    on: int = 1,
    more: int | None = None,
    label_size: int | None = None,
    splits: tuple[str, ...] = ('train', 'val', 'test'),
    deep: bool = False,
) -> None:
    """Write four images of each split, with two annotators."""
    rng = np.random.default_rng(0)
    for split in splits:
        for i in range(4):
            side, stem = sizes[i % len(sizes)], f'{split}{i}'
            image = rng.integers(0, 256, (side, side, 3), np.uint8)
            if deep:
                image = rng.integers(0, 4096, (side, side)).astype(np.uint16)
            images = folder / paths[0].format(split=split)
            write(images / f'{stem}.png', image)
            for reader in range(2):
                mask = np.zeros((label_size or side,) * 2, np.uint8)
                mask[20 : 30 + 2 * reader, 20:36] = on
                if more is not None:
                    mask[40:50, 40:50] = more
                names = dict(split=split, stem=stem, reader=reader)
                write(folder / paths[1].format(**names), mask)


def read(folder: Path, text: str) -> dict:
    """A config; without workers and with few images, which is no mistake."""
    path = folder / 'user_config.py'
    path.write_text(text)
    cfg = Config.fromfile(path).to_dict()
    for split in ('train', 'val', 'test'):
        loader = cfg[f'{split}_dataloader']
        loader.update(num_workers=0, persistent_workers=False)
        loader['batch_size'] = min(2, loader['batch_size'])
        loader['dataset'].update(data_root=str(folder / 'data'))
    return cfg


def quickstart(folder: Path) -> dict:
    paint(folder / 'data', on=255)
    base = CONFIGS / 'quickstart/car_lidc-shapes.py'
    cfg = read(folder, f'_base_ = {str(base)!r}')
    cfg['test_dataloader']['dataset']['indices'] = 4
    return cfg


def method(folder: Path, name: str) -> dict:
    """A config of another method, by a pattern of its path."""
    paint(folder / 'data', BESIDE, sizes=(128,), on=255)
    return read(folder, f'_base_ = {str(next(CONFIGS.glob(name)))!r}')


def own_data(
    folder: Path, classes: str = '', number: int = 2, **data: Any
) -> dict:
    """The config of docs/do/own_data.md, of other classes perhaps."""
    paint(folder / 'data', **data)
    template = (CONFIGS / '_base_/datasets/my_data.py').read_text()
    template = template.replace('(256, 256)', '(64, 64)')
    if classes:
        template = template.replace("('background', 'object')", classes)
    (folder / 'data.py').write_text(template)
    page = (ROOT / 'docs/do/own_data.md').read_text()
    text = re.search(r'```python\n(_base_.*?)```', page, re.DOTALL)[1]
    text = text.replace('../configs', str(CONFIGS))
    cfg = read(folder, text.replace('num_classes=2', f'num_classes={number}'))
    # JSON has no tuples, and MMSeg's crop takes no list.
    cfg['train_dataloader']['dataset']['pipeline'][2]['crop_size'] = 64
    return cfg


def stock(folder: Path) -> dict:
    """A training of MMSeg's own: its model, data set, loop and metric."""
    paint(folder / 'data', ('img/{split}', 'ann/{split}/{stem}.png'))
    cfg = copy.deepcopy(STOCK)
    for split in ('train', 'val', 'test'):
        data = cfg[f'{split}_dataloader']['dataset']
        data['data_root'] = str(folder / 'data')
    return cfg


def stock_model(folder: Path, width: int = 4) -> dict:
    """A plain MMSeg model and its weights, as a black box."""
    model = copy.deepcopy(STOCK['model'])
    model['backbone']['base_channels'] = width
    model['decode_head'].update(in_channels=width, channels=width)
    path = folder / f'stock_{width}.json'
    path.write_text(json.dumps(dict(model=model)))
    weights = path.with_suffix('.pth')
    with DefaultScope.overwrite_default_scope('mmseg'):
        built = MODELS.build(Config.fromfile(path).model)
    torch.save(dict(state_dict=built.state_dict()), weights)
    return dict(type='BlackBox', config=str(path), checkpoint=str(weights))


def on_black_box(folder: Path) -> dict:
    """CAR on a frozen stock model; one of another width lies beside it."""
    cfg = small(folder)
    stock_model(folder, 8)
    cfg['model']['decode_head']['black_box'] = stock_model(folder)
    return cfg


def training_free(folder: Path) -> dict:
    """A stock model that samples, and is only tested."""
    cfg = on_black_box(folder)
    head = cfg['model']['decode_head']
    head['generator'] = dict(type='GumbelSampler')
    del head['calibration'], cfg['model']['discriminator']
    del cfg['model']['train_cfg'], cfg['param_scheduler'], cfg['custom_hooks']
    unused = ('val_dataloader', 'val_cfg', 'val_evaluator')
    unused += ('train_dataloader', 'train_cfg', 'optim_wrapper')
    return cfg | dict.fromkeys(unused)
