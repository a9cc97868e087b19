"""Steps of pipelines, tried one by one on the images of a small project."""

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.models import SegDataPreProcessor
from mmseg.registry import DATASETS
from PIL import Image
from torch.utils.data import DataLoader

from mmcar.apis.pipeline_steps import (
    check_batches,
    check_objects,
    check_steps,
)
from mmcar.utils.errors import UserError
from tests.test_tools.project import loader, write_data

LOAD = dict(type='LoadCheckedImage')
ALL = dict(type='LoadMultiAnnotations', draw=False)
ONE = dict(type='LoadMultiAnnotations', draw=True)
PACK = dict(type='PackStochasticInputs')
STOCK_PACK = dict(type='PackSegInputs')


def build(folder, split, steps, **changes):
    settings = loader(folder, 'val')
    settings['dataset'].update(pipeline=steps, **changes)
    cfg = Config({f'{split}_dataloader': settings})
    return cfg, DATASETS.build(settings['dataset'])


@pytest.fixture(autouse=True)
def scope():
    with DefaultScope.overwrite_default_scope('mmseg'):
        yield


def resize(kind='Resize'):
    return dict(type=kind, scale=(8, 8), keep_ratio=False)


def crop(kind='CenterCrop'):
    return dict(type=kind, crop_size=8)


RIGHT = [
    ('train', [LOAD, ONE, dict(type='Pad', size_divisor=32), PACK]),
    ('train', [LOAD, ALL, dict(type='PadAll', size_divisor=32), PACK]),
    ('train', [LOAD, ALL, resize(), PACK]),
    ('val', [LOAD, resize(), ALL, PACK]),
    ('val', [LOAD, ALL, resize('ResizeOriginal'), PACK]),
    ('val', [LOAD, ALL, crop('CenterCropAll'), PACK]),
    ('train', [LOAD, ONE, STOCK_PACK]),
]
WRONG = [
    ('train', [LOAD, ALL, dict(type='Pad', size_divisor=32), PACK], 2),
    ('train', [LOAD, ALL, crop(), PACK], 2),
    ('val', [LOAD, ALL, crop(), PACK], 2),
    ('val', [LOAD, ALL, STOCK_PACK], 2),
    ('train', [LOAD, ALL, STOCK_PACK], 2),
    ('val', [LOAD, crop(), ALL, PACK], 1),
    ('val', [LOAD, ALL, resize(), PACK], 2),
    ('test', [LOAD, dict(type='Pad', size_divisor=32), ALL, PACK], 1),
    ('train', [dict(type='RandomFlip', prob=0.01), LOAD, ONE, PACK], 0),
    ('train', [LOAD, dict(type='LoadAnnotations'), PACK], 1),
]


@pytest.mark.parametrize(('split', 'steps'), RIGHT)
def test_steps_that_treat_image_and_labels_alike(tmp_path, split, steps):
    write_data(tmp_path)
    cfg, dataset = build(tmp_path, split, steps)
    check_steps(cfg, split, dataset)


@pytest.mark.parametrize(('split', 'steps', 'place'), WRONG)
def test_the_step_that_parts_them_is_named(tmp_path, split, steps, place):
    write_data(tmp_path)
    cfg, dataset = build(tmp_path, split, steps)
    kind = steps[place]['type']
    match = rf'{split}_dataloader.dataset.pipeline\[{place}\] \({kind}\)'
    with pytest.raises(UserError, match=match):
        check_steps(cfg, split, dataset)


def test_the_second_of_joined_data_sets(tmp_path):
    write_data(tmp_path)
    right, wrong = (
        build(tmp_path, 'train', steps)[0].train_dataloader.dataset
        for steps in ([LOAD, ALL, PACK], [LOAD, ALL, crop(), PACK])
    )
    joined = dict(type='ConcatDataset', datasets=[right, wrong])
    cfg = Config(dict(train_dataloader=dict(dataset=joined)))
    with pytest.raises(UserError, match=r'datasets\[1\].pipeline\[2\]'):
        check_steps(cfg, 'train', DATASETS.build(joined))


def paint(folder, *ids):
    """Fill the object of every label map with the ids, in turn."""
    files = sorted(folder.glob('annotations/val/*/*.png'))
    for index, path in enumerate(files):
        mask = np.array(Image.open(path))
        mask[mask > 0] = ids[index % len(ids)]
        Image.fromarray(mask).save(path)


def test_objects_that_count_as_unlabelled(tmp_path):
    write_data(tmp_path)
    steps = [LOAD, ALL, PACK]
    check_objects(*build(tmp_path, 'train', steps))
    paint(tmp_path, 255, 255, 255, 1)
    check_objects(*build(tmp_path, 'train', steps))
    paint(tmp_path, 255)
    with pytest.raises(UserError, match=r'label_map={255: 1}'):
        check_objects(*build(tmp_path, 'train', steps))
    for meant in ({255: 1}, {255: 255}):
        check_objects(*build(tmp_path, 'train', steps, label_map=meant))
    paint(tmp_path, 0)
    check_objects(*build(tmp_path, 'train', steps))


def test_images_of_several_sizes_in_a_batch(tmp_path):
    write_data(tmp_path)
    _, dataset = build(tmp_path, 'val', [LOAD, ALL, PACK])
    model = torch.nn.Module()
    model.data_preprocessor = SegDataPreProcessor()
    check_batches('val', DataLoader(dataset, batch_size=2), model)
    path = tmp_path / 'images/val/3.png'
    Image.open(path).resize((20, 20)).save(path)
    for file in tmp_path.glob('annotations/val/3/*.png'):
        Image.open(file).resize((20, 20), Image.NEAREST).save(file)
    check_batches('val', DataLoader(dataset, batch_size=1), model)
    with pytest.raises(UserError, match=r'val_dataloader.batch_size=2.*20x20'):
        check_batches('val', DataLoader(dataset, batch_size=2), model)


def test_a_step_that_scores_another_image_each_time(tmp_path):
    write_data(tmp_path)
    steps = [LOAD, ALL, dict(type='PhotoMetricDistortion'), PACK]
    check_steps(*build_for(tmp_path, 'train', steps))
    with pytest.raises(UserError, match=r'pipeline\[2\].*at random'):
        check_steps(*build_for(tmp_path, 'val', steps))


def build_for(folder, split, steps):
    cfg, dataset = build(folder, split, steps)
    return cfg, split, dataset
