"""A tiny data set and config on disk, and the tools run on them."""

from pathlib import Path

import numpy as np
from mmengine.config import Config

from tests.forking import ROOT, run
from tests.test_datasets.samples import write
from tests.toys import toy_config, toy_parts

__all__ = ['ROOT', 'run']


def write_data(
    folder: Path, images: int = 4, size: int = 16, readers: int = 2
) -> None:
    """Write images with several annotators each, for train and val."""
    rng = np.random.default_rng(0)
    for split in ('train', 'val'):
        for i in range(images):
            image = rng.integers(0, 256, (size, size, 3), np.uint8)
            write(folder / f'images/{split}/{i}.png', image)
            for reader in range(readers):
                mask = np.zeros((size, size), np.uint8)
                mask[4 : 8 + 2 * reader, 4:10] = 1
                write(folder / f'annotations/{split}/{i}/a{reader}.png', mask)


def stock_model(num_classes: int = 2) -> dict:
    """A small model of MMSegmentation's own."""
    return dict(
        type='EncoderDecoder',
        data_preprocessor=dict(
            type='SegDataPreProcessor',
            mean=[100.0, 110.0, 120.0],
            std=[50.0, 60.0, 70.0],
            bgr_to_rgb=True,
            size_divisor=16,
            seg_pad_val=255,
            test_cfg=dict(size_divisor=32),
        ),
        **toy_parts(num_classes=num_classes),
        train_cfg=dict(),
        test_cfg=dict(mode='whole'),
    )


def loader(folder: Path, split: str) -> dict:
    train = split == 'train'
    pipeline = [
        dict(type='LoadCheckedImage'),
        dict(type='LoadMultiAnnotations', draw=train),
        dict(type='PackStochasticInputs'),
    ]
    sampler = 'InfiniteSampler' if train else 'DefaultSampler'
    return dict(
        batch_size=2,
        num_workers=0,
        sampler=dict(type=sampler, shuffle=train),
        dataset=dict(
            type='MultiAnnotatorDataset',
            data_root=str(folder),
            data_prefix=dict(
                img_path=f'images/{split}', seg_map_path=f'annotations/{split}'
            ),
            metainfo=dict(classes=('background', 'cell')),
            test_mode=not train,
            pipeline=pipeline,
        ),
    )


def tiny_settings(folder: Path) -> dict:
    """Config keys of a training of 4 + 4 iterations and a test."""
    optimizer = dict(optimizer=dict(type='Adam', lr=1e-3))
    names = ('calibration', 'generator', 'discriminator')
    evaluator = dict(type='GEDMetric', num_samples=3)
    return dict(
        model=toy_config(test_cfg=dict(num_samples=3)),
        train_dataloader=loader(folder, 'train'),
        test_dataloader=loader(folder, 'val'),
        test_evaluator=evaluator,
        test_cfg=dict(type='TestLoop'),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            **dict.fromkeys(names, optimizer),
        ),
        train_cfg=dict(
            type='AlternatingTrainLoop',
            phases=[
                dict(iters=4, train=['calibration']),
                dict(iters=4, train=['generator', 'discriminator']),
            ],
        ),
        custom_hooks=[dict(type='R1Hook', weight=1.0)],
    )


def write_config(folder: Path, **changes: object) -> Path:
    """Write data and config into a folder; return the config's path."""
    write_data(folder / 'data')
    base = ROOT / 'configs' / '_base_' / 'default_runtime.py'
    settings = {**tiny_settings(folder / 'data'), **changes}
    path = folder / 'tiny.py'
    text = Config(settings).dump()
    path.write_text(
        f'_base_ = [{str(base)!r}]\n{text}\n'
        'default_hooks = dict(logger=dict(interval=1), '
        'checkpoint=dict(interval=4))\n'
    )
    return path
