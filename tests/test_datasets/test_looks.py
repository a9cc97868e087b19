"""Steps of pipelines, tried one by one on the images of a small project."""

from contextlib import nullcontext

import numpy as np
import pytest
from mmengine.registry import DefaultScope
from mmseg.registry import DATASETS
from PIL import Image

from mmcar.datasets import looks
from mmcar.utils.errors import UserError
from tests.test_datasets.encoding import png16
from tests.test_tools.project import loader, write_data

LOAD = dict(type='LoadCheckedImage')
ALL = dict(type='LoadMultiAnnotations', draw=False)
ONE = dict(type='LoadMultiAnnotations', draw=True)
PACK = dict(type='PackStochasticInputs')
STOCK_PACK = dict(type='PackSegInputs')


def build(folder, steps, **changes):
    settings = loader(folder, 'val')['dataset']
    return DATASETS.build({**settings, 'pipeline': steps, **changes})


@pytest.fixture(autouse=True)
def scope():
    with DefaultScope.overwrite_default_scope('mmseg'):
        yield


def resize(kind='Resize'):
    return dict(type=kind, scale=(8, 8), keep_ratio=False)


def crop(kind='CenterCrop'):
    return dict(type=kind, crop_size=8)


RIGHT = [
    (True, [LOAD, ONE, dict(type='Pad', size_divisor=32), PACK]),
    (True, [LOAD, ALL, dict(type='PadAll', size_divisor=32), PACK]),
    (True, [LOAD, ALL, resize(), PACK]),
    (False, [LOAD, resize(), ALL, PACK]),
    (False, [LOAD, ALL, resize('ResizeOriginal'), PACK]),
    (False, [LOAD, ALL, crop('CenterCropAll'), PACK]),
    (True, [LOAD, ONE, STOCK_PACK]),
]
WRONG = [
    (True, [LOAD, ALL, dict(type='Pad', size_divisor=32), PACK], 2),
    (True, [LOAD, ALL, crop(), PACK], 2),
    (False, [LOAD, ALL, crop(), PACK], 2),
    (False, [LOAD, crop(), ALL, PACK], 1),
    (False, [LOAD, ALL, resize(), PACK], 2),
    (False, [LOAD, dict(type='Pad', size_divisor=32), ALL, PACK], 1),
]


def at(step):
    return nullcontext()


def faults(folder, learnt, steps, sure=True):
    """Places of steps with faults, the first pipeline's step being 0."""
    leaf = build(folder, steps)
    return [
        leaf.pipeline.transforms.index(step)
        for step, _, certain in looks.step_faults(leaf, learnt, at)
        if certain == sure
    ]


def test_steps_that_part_image_and_labels_are_found(tmp_path):
    write_data(tmp_path, images=1)
    for learnt, steps in RIGHT:
        assert not faults(tmp_path, learnt, steps)
        assert not faults(tmp_path, learnt, steps, sure=False)
    for learnt, steps, place in WRONG:
        assert place in faults(tmp_path, learnt, steps)


def test_steps_that_are_likely_wrong(tmp_path):
    """A packer that drops annotators, another image at each time."""
    write_data(tmp_path)
    distort = dict(type='PhotoMetricDistortion')
    assert faults(tmp_path, True, [LOAD, ALL, STOCK_PACK], False) == [2]
    assert faults(tmp_path, False, [LOAD, ALL, distort, PACK], False) == [2]
    assert not faults(tmp_path, True, [LOAD, ALL, distort, PACK], False)


def test_a_step_that_acts_by_chance_acts_for_certain(tmp_path):
    write_data(tmp_path)
    flip = dict(type='RandomFlip', prob=0.01)
    leaf = build(tmp_path, [flip, LOAD, ONE, PACK])
    with pytest.raises(KeyError, match='img'):
        list(looks.step_faults(leaf, True, at))
    assert leaf.pipeline.transforms[0].prob == 0.01


def paint(folder, *ids):
    """Fill the object of every label map with the ids, in turn."""
    files = sorted(folder.glob('annotations/val/*/*.png'))
    for index, path in enumerate(files):
        mask = np.array(Image.open(path))
        mask[mask > 0] = ids[index % len(ids)]
        Image.fromarray(mask).save(path)


def test_objects_that_count_as_unlabelled(tmp_path):
    write_data(tmp_path)
    steps = [LOAD, ONE, PACK]
    assert looks.only_background(build(tmp_path, steps)) is None
    paint(tmp_path, 255)
    assert '{255: 1}' in looks.only_background(build(tmp_path, steps))
    for meant in ({255: 1}, {255: 255}):
        leaf = build(tmp_path, steps, label_map=meant)
        assert looks.only_background(leaf) is None
    paint(tmp_path, 0)
    assert looks.only_background(build(tmp_path, steps)) is None


def test_images_that_the_stock_loader_clips(tmp_path):
    write_data(tmp_path)
    leaf = build(tmp_path, [dict(type='LoadImageFromFile'), ONE, PACK])
    looks.refuse_clipped(leaf, at)
    deep = np.arange(256, dtype=np.uint16).reshape(16, 16) * 99
    (tmp_path / 'images/val/3.png').write_bytes(png16(deep[..., None]))
    with pytest.raises(UserError, match=r'uint16.*LoadCheckedImage'):
        looks.refuse_clipped(leaf, at)
    looks.refuse_clipped(build(tmp_path, [LOAD, ONE, PACK]), at)
