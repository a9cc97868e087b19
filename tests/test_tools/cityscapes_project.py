"""Streets in Cityscapes' layout, a stock model for them, the card's config."""

import itertools
from pathlib import Path

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from tests.test_datasets.samples import write

from .project import ROOT, stock_model
from .scripts import load_script

CARD = ROOT / 'configs/car/car_deeplabv3_cityscapes24.py'
SIZE = (48, 96)  # of the images on disk
SCALE = (24, 12)  # width and height at which F and G work
STEM = '{0}_000000_000019'


def write_streets(root: Path) -> None:
    """Smooth colours, and labels that are large areas of all classes."""
    rng = np.random.default_rng(0)
    raw = root.parent / 'raw'
    converter = load_script('dataset_converters/cityscapes24.py')
    cities = dict(train=('aachen', 'ulm'), val=('munster',))
    for split, names in cities.items():
        for city in names:
            stem = f'{split}/{city}/{STEM.format(city)}'
            coarse = rng.integers(0, 256, (4, 6, 3), np.uint8)
            image = cv2.resize(coarse, SIZE[::-1])
            ids = (*converter.CLASS_IDS, 4)  # the last is not evaluated
            areas = rng.choice(ids, (4, 6)).astype(np.uint8)
            label = cv2.resize(areas, SIZE[::-1], interpolation=0)
            write(raw / f'leftImg8bit/{stem}_leftImg8bit.png', image)
            write(raw / f'gtFine/{stem}_gtFine_labelIds.png', label)
    converter.main([str(raw), str(root), '--height', str(SCALE[1])])


def write_black_box(
    folder: Path, root: Path, seed: int = 0, num_classes: int = 19
) -> Path:
    """A config of MMSeg's and its weights, beside it as ``.pth``."""
    torch.manual_seed(seed)
    pipeline = [
        dict(type='LoadImageFromFile'),
        dict(type='Resize', scale=(120, 60), keep_ratio=True),
        dict(type='LoadAnnotations'),
        dict(type='PackSegInputs'),
    ]
    prefix = dict(img_path='leftImg8bit/val', seg_map_path='gtFine/val')
    settings = dict(
        default_scope='mmseg',
        model=stock_model(num_classes),
        test_pipeline=pipeline,
        test_dataloader=dict(
            batch_size=1,
            num_workers=0,
            sampler=dict(type='DefaultSampler', shuffle=False),
            dataset=dict(
                type='CityscapesDataset',
                data_root=str(root),
                data_prefix=prefix,
                pipeline=pipeline,
            ),
        ),
        test_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
        test_cfg=dict(type='TestLoop'),
        work_dir=str(folder / 'stock'),
    )
    path = folder / f'black_box_{seed}.py'
    path.write_text(Config(settings).dump())
    model = MODELS.build(stock_model(num_classes))
    for weight in model.parameters():
        if weight.ndim > 1:
            torch.nn.init.kaiming_normal_(weight)
    classes = dict(classes=['x'] * 19, palette=[[0, 0, 0]] * 19)
    content = dict(
        state_dict=model.state_dict(), meta=dict(dataset_meta=classes)
    )
    torch.save(content, path.with_suffix('.pth'))
    return path


def small_card(root: Path, black_box: Path, form: str = 'probs') -> Config:
    """The card's config, smaller, with nothing else but B changed."""
    cfg = Config.fromfile(CARD)
    head, small = 'model.decode_head', dict(base_channels=4, depth=2)
    changes = {
        f'{head}.black_box.config': str(black_box),
        f'{head}.black_box.checkpoint': str(black_box.with_suffix('.pth')),
        f'{head}.black_box.one_hot': form == 'labels',
        f'{head}.calibration': dict(channels=4, num_blocks=2),
        f'{head}.generator': small,
        'model.discriminator': small,
        'model.train_cfg.num_samples': 2,
        'model.test_cfg.num_samples': 2,
        'work_dir': str(root / 'work_dir'),
    }
    cfg.merge_from_dict(changes)
    loaders = (cfg.train_dataloader, cfg.val_dataloader, cfg.test_dataloader)
    for loader in loaders:
        loader.update(batch_size=1, num_workers=0, persistent_workers=False)
        loader.dataset.data_root = str(root)
    pipelines = [loader.dataset.pipeline for loader in loaders]
    for step in itertools.chain(*pipelines, cfg.test_pipeline):
        if 'scale' in step:
            step.scale = SCALE
        if step.type == 'ReadCopies':
            step.folder = f'{SCALE[1]}x{SCALE[0]}'
        if step.type == 'LoadBlackBoxProbs':
            step.update(root=str(root / 'black_box'), form=form)
        if step.type == 'RandomCrop':
            step.crop_size = (8, 8)
        if step.type == 'PadAll':
            step.size = (8, 8)
    for phase in cfg.train_cfg.phases:
        phase.iters = 2
    for evaluator in (cfg.val_evaluator, cfg.test_evaluator):
        evaluator[0].num_samples = (2,)  # GED
    return cfg
