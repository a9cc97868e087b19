"""Colours that are told apart."""

import numpy as np
from mmengine.config import Config
from mmseg.registry import DATASETS

import mmcar.datasets
from mmcar.structures.colours import (
    UNLABELLED,
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
