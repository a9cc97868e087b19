"""Colours that are told apart."""

import numpy as np
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS

import mmcar.datasets
from mmcar.structures.colours import (
    UNLABELLED,
    distant_colours,
    overlay_palette,
)
from tests.test_tools.project import ROOT


def gaps(palette, others):
    offsets = np.array(palette, float)[:, None] - np.array(others, float)
    return np.linalg.norm(offsets, axis=-1)


def palettes():
    """Those of our data sets, of our configs, and those without a data set."""
    for name in vars(mmcar.datasets):
        metainfo = getattr(DATASETS.get(name), 'METAINFO', {})
        if 'palette' in metainfo:
            yield name, metainfo['palette']
    for path in sorted(ROOT.glob('**/_base_/datasets/*.py')):
        if '.venv' in path.parts:
            continue
        cfg = Config.fromfile(path)
        for key in ('train_dataloader', 'test_dataloader'):
            dataset = (cfg.get(key) or {}).get('dataset', {})
            metainfo = dataset.get('metainfo') or {}
            if 'palette' in metainfo:
                yield f'{path.stem} {key}', metainfo['palette']
    for number in (2, 3, 10, 40, 100):
        yield f'overlay {number}', overlay_palette(number)


def test_unlabelled_pixels_look_like_no_class():
    found = dict(palettes())
    assert {'CamVidFlipsDataset', 'Cityscapes24Dataset'} <= found.keys()
    assert len(found) > 9
    for name, palette in found.items():
        assert gaps(palette, [UNLABELLED]).min() > 30, name


@pytest.mark.parametrize('number', [1, 150, 151])
def test_distant_colours(number):
    own = [[0, 255, 0], [255, 0, 255]]
    found = distant_colours(own, number)
    assert len(found) == number
    used = [*own, [0] * 3, [128] * 3, [255] * 3, *found]
    distance = gaps(used, used)
    np.fill_diagonal(distance, np.inf)
    assert distance.min() > (40 if number < 151 else 16)


def test_palettes_of_overlays():
    own = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert overlay_palette(3, own).tolist() == own
    two = overlay_palette(2, [[0] * 3, [255] * 3])
    assert two.dtype == np.uint8 and two[1].tolist() == [230, 159, 0]
    for number in (24, 150, 300):
        palette = overlay_palette(number).tolist()
        assert len({*map(tuple, palette)}) == number
    assert len(overlay_palette(5, own)) == 5
