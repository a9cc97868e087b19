"""Right configs, to be changed: small ones, and those of the docs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.registry import MODELS
from PIL import Image

from tests.test_tools.project import loader, tiny_settings, write_data

CONFIGS = Path(__file__).parents[2] / 'configs'
FOLDERS = ('images/{split}', 'annotations/{split}/{stem}/{reader}.png')
BESIDE = ('{split}/images', '{split}/gt/{stem}_l{reader}.png')


def small(folder: Path) -> dict:
    """A config that uses most of what there is, and its data."""
    write_data(folder)
    runtime = Config.fromfile(CONFIGS / '_base_/default_runtime.py')
    evaluator = dict(type='GEDMetric', num_samples=3)
    scheduler = dict(
        type='MultiStepLR', begin='phase', by_epoch=False, milestones=[2]
    )
    settings = tiny_settings(folder)
    cfg = {
        **runtime.to_dict(),
        **settings,
        'val_dataloader': loader(folder, 'val'),
        'val_cfg': dict(type='ValLoop'),
        'val_evaluator': [evaluator],
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
            path = folder / paths[0].format(split=split) / f'{stem}.png'
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
            for reader in range(2):
                mask = np.zeros((label_size or side,) * 2, np.uint8)
                mask[20 : 30 + 2 * reader, 20:36] = on
                if more is not None:
                    mask[40:50, 40:50] = more
                names = dict(split=split, stem=stem, reader=reader)
                path = folder / paths[1].format(**names)
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask).save(path)


def shrink(cfg: dict, folder: Path) -> dict:
    """Without workers and with few images, which is no mistake."""
    for split in ('train', 'val', 'test'):
        loader = cfg[f'{split}_dataloader']
        loader.update(num_workers=0, persistent_workers=False)
        loader['batch_size'] = min(2, loader['batch_size'])
        loader['dataset'].update(data_root=str(folder))
    return cfg


def read(folder: Path, text: str) -> dict:
    path = folder / 'user_config.py'
    path.write_text(text)
    return Config.fromfile(path).to_dict()


def quickstart(folder: Path) -> dict:
    paint(folder / 'data', on=255)
    base = CONFIGS / 'quickstart/car_lidc-shapes.py'
    cfg = shrink(read(folder, f'_base_ = {str(base)!r}'), folder / 'data')
    cfg['test_dataloader']['dataset']['indices'] = 4
    return cfg


OWN = f"""
_base_ = ['{CONFIGS}/_base_/models/car_recipe_small.py', './data.py',
          '{CONFIGS}/_base_/schedules/recipe.py',
          '{CONFIGS}/_base_/default_runtime.py']
model = dict(
    data_preprocessor=dict(size_divisor=16, test_cfg=dict(size_divisor=16)),
    decode_head=dict(num_classes=2, generator=dict(gumbel=dict(floor=0.05))),
    train_cfg=dict(soft_labels=True),
)
param_scheduler = dict(calibration=dict(end=2000))
train_cfg = dict(
    phases=[
        dict(iters=2000, train=['calibration']),
        dict(iters=500, train=['generator', 'discriminator']),
    ],
    val_interval=500,
)
"""


def own_data(
    folder: Path, classes: str = '', number: int = 2, **data: Any
) -> dict:
    """The config of docs/own_data.md, of other classes perhaps."""
    paint(folder / 'data', **data)
    template = (CONFIGS / '_base_/datasets/my_data.py').read_text()
    template = template.replace('(256, 256)', '(64, 64)')
    if classes:
        template = template.replace("('background', 'object')", classes)
    (folder / 'data.py').write_text(template)
    text = OWN.replace('num_classes=2', f'num_classes={number}')
    cfg = shrink(read(folder, text), folder / 'data')
    # JSON has no tuples, and MMSeg's crop takes no list.
    cfg['train_dataloader']['dataset']['pipeline'][2]['crop_size'] = 64
    return cfg


def peer(folder: Path, name: str) -> dict:
    paint(folder / 'data', BESIDE, sizes=(128,), on=255)
    base = next(CONFIGS.glob(f'*/{name}_lidc.py'))
    return shrink(read(folder, f'_base_ = {str(base)!r}'), folder / 'data')


STOCK = """
norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor', mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375], bgr_to_rgb=True, pad_val=0,
        seg_pad_val=255, size_divisor=16),
    backbone=dict(
        type='UNet', base_channels={width}, num_stages=3, strides=(1, 1, 1),
        enc_num_convs=(1, 1, 1), dec_num_convs=(1, 1),
        downsamples=(True, True), enc_dilations=(1, 1, 1),
        dec_dilations=(1, 1), norm_cfg=norm_cfg),
    decode_head=dict(
        type='FCNHead', in_channels={width}, in_index=2, channels={width},
        num_convs=1, concat_input=False, num_classes=2, norm_cfg=norm_cfg,
        loss_decode=dict(type='CrossEntropyLoss', use_sigmoid=False)),
    train_cfg=dict(), test_cfg=dict(mode='whole'))
"""


def stock_model(folder: Path, width: int = 4) -> dict:
    """A plain MMSeg model and its weights, as a black box."""
    path = folder / f'stock_{width}.py'
    path.write_text(STOCK.format(width=width))
    with DefaultScope.overwrite_default_scope('mmseg'):
        model = MODELS.build(Config.fromfile(path).model)
    torch.save(dict(state_dict=model.state_dict()), path.with_suffix('.pth'))
    return dict(
        type='BlackBox',
        config=str(path),
        checkpoint=str(path.with_suffix('.pth')),
    )


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
    del cfg['model']['train_cfg']
    for key in ('dataloader', 'cfg', 'evaluator'):
        cfg[f'val_{key}'] = None
    for key in ('train_dataloader', 'train_cfg', 'optim_wrapper'):
        cfg[key] = None
    del cfg['param_scheduler'], cfg['custom_hooks']
    return cfg


def stock(folder: Path) -> dict:
    """A training of MMSeg's own: its model, data set, loop and metric."""
    paint(folder / 'data', ('img/{split}', 'ann/{split}/{stem}.png'))
    path = folder / 'stock.py'
    path.write_text(STOCK.format(width=4))
    cfg = Config.fromfile(path).to_dict()
    load = dict(type='LoadImageFromFile')
    labels = dict(type='LoadAnnotations')
    pack = dict(type='PackSegInputs')
    flip = dict(type='RandomFlip', prob=0.5)
    for split, steps in (
        ('train', [load, labels, flip, pack]),
        ('val', [load, labels, pack]),
        ('test', [load, labels, pack]),
    ):
        sampler = 'InfiniteSampler' if split == 'train' else 'DefaultSampler'
        cfg[f'{split}_dataloader'] = dict(
            batch_size=2,
            num_workers=0,
            sampler=dict(type=sampler, shuffle=split == 'train'),
            dataset=dict(
                type='BaseSegDataset',
                data_root=str(folder / 'data'),
                data_prefix=dict(
                    img_path=f'img/{split}', seg_map_path=f'ann/{split}'
                ),
                img_suffix='.png',
                metainfo=dict(classes=['background', 'cell']),
                pipeline=steps,
            ),
        )
    metric = dict(type='IoUMetric', iou_metrics=['mIoU'])
    optimizer = dict(type='SGD', lr=0.01, momentum=0.9, weight_decay=0.0005)
    cfg.update(
        default_scope='mmseg',
        val_evaluator=metric,
        test_evaluator=metric,
        train_cfg=dict(type='IterBasedTrainLoop', max_iters=8, val_interval=4),
        val_cfg=dict(type='ValLoop'),
        test_cfg=dict(type='TestLoop'),
        optim_wrapper=dict(type='OptimWrapper', optimizer=optimizer),
        param_scheduler=[
            dict(type='PolyLR', eta_min=1e-4, power=0.9, end=8, by_epoch=False)
        ],
        default_hooks=dict(
            checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=4),
            logger=dict(type='LoggerHook', log_metric_by_epoch=False),
        ),
        log_processor=dict(by_epoch=False),
    )
    del cfg['norm_cfg']
    return json.loads(json.dumps(cfg))


def build(call: str, folder: Path) -> dict:
    """A config of this module by the call that makes it."""
    name, _, options = call.removesuffix(')').partition('(')
    return globals()[name](folder, **eval(f'dict({options})'))
