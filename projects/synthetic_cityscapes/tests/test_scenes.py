"""The drawn streets are what the Cityscapes tools expect."""

import cv2
import numpy as np
import pytest

from tests.test_tools.scripts import load_script

from ..synthetic_cityscapes.dataset import CITIES, frames, write_dataset
from ..synthetic_cityscapes.scenes import HEIGHT, IDS, WIDTH, draw_scene


@pytest.fixture(scope='module')
def scenes():
    return [draw_scene(0, index) for index in range(4)]


def test_every_class_of_cityscapes_is_drawn(scenes):
    converter = load_script('dataset_converters/cityscapes24.py')
    seen = set(np.unique(np.stack([labels for _, labels in scenes])))
    assert set(converter.CLASS_IDS) <= seen <= set(IDS.values())
    assert seen - set(converter.CLASS_IDS)  # some are not evaluated
    for image, labels in scenes:
        assert image.shape == (HEIGHT, WIDTH, 3) == (1024, 2048, 3)
        assert image.dtype == labels.dtype == np.uint8
        share = np.isin(labels, converter.CLASS_IDS).mean()
        assert 0.6 < share < 1


def test_the_seed_decides_every_pixel(scenes):
    image, labels = draw_scene(0, 1)
    assert (image == scenes[1][0]).all() and (labels == scenes[1][1]).all()
    assert (draw_scene(1, 1)[1] != labels).mean() > 0.1
    assert (scenes[0][1] != labels).mean() > 0.1


def test_a_road_lies_below_the_sky(scenes):
    for _, labels in scenes:
        rows = np.arange(HEIGHT)[:, None]
        sky, road = (labels == IDS[name] for name in ('sky', 'road'))
        assert (rows * sky).sum() / sky.sum() < HEIGHT / 3
        assert (rows * road).sum() / road.sum() > HEIGHT / 2


def test_layout_of_cityscapes(tmp_path, monkeypatch):
    drawn = []

    def small_scene(seed, index):
        drawn.append(index)
        image = np.full((8, 16, 3), index, np.uint8)
        return image, np.full((8, 16), 7 + seed, np.uint8)

    monkeypatch.setitem(write_dataset.__globals__, 'draw_scene', small_scene)
    write_dataset(tmp_path, seed=1)
    total = sum(sum(cities.values()) for cities in CITIES.values())
    assert drawn == list(range(total)) and len(set(frames())) == total
    images = sorted(tmp_path.glob('leftImg8bit/*/*/*_leftImg8bit.png'))
    assert len(images) == total
    for image in images:
        split, city = image.parts[-3:-1]
        stem = image.name.removesuffix('_leftImg8bit.png')
        label = f'gtFine/{split}/{city}/{stem}_gtFine_labelIds.png'
        assert (cv2.imread(str(tmp_path / label), -1) == 8).all()
    images[3].unlink()
    write_dataset(tmp_path, seed=1)  # draws that one again, no other
    assert len(drawn) == total + 1 and images[3].is_file()
