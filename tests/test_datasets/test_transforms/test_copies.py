"""Smaller copies take the place of images and labels."""

import numpy as np
import pytest

from mmcar.datasets.transforms import ReadCopies
from mmcar.utils.errors import MissingFileError, UserError
from tests.test_datasets.samples import write


def test_paths_lead_to_the_copies(tmp_path):
    names = dict(img_path='img/a/0.png', seg_map_path='ann/a/0.png')
    for name in names.values():
        write(tmp_path / 'small' / name, np.zeros((2, 2), np.uint8))
    given = {key: f'{tmp_path}/{name}' for key, name in names.items()}
    step = ReadCopies('small', 'make them')
    results = step(
        dict(data_root=str(tmp_path), sample_key='a/0.png', **given)
    )
    assert results.pop('sample_key') == 'a/0.png'
    for key, name in names.items():
        assert results[key] == f'{tmp_path}/small/{name}'


def test_what_is_missing_is_named(tmp_path):
    step = ReadCopies('small', 'make them')
    image = dict(data_root=str(tmp_path), img_path=f'{tmp_path}/img/0.png')
    with pytest.raises(MissingFileError, match=r'small/img/0\.png'):
        step(image)
    with pytest.raises(UserError, match='leads out of'):
        step(dict(image, img_path='/elsewhere/0.png'))
    with pytest.raises(UserError, match='gives data_root'):
        step(dict(img_path='0.png'))
