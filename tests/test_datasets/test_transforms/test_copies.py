"""Smaller copies take the place of images and labels."""

import numpy as np
import pytest

from mmcar.datasets.transforms import ReadCopies
from mmcar.utils.errors import MissingFileError, UserError
from tests.test_datasets.samples import write


def test_paths_lead_to_the_copies(tmp_path):
    write(tmp_path / 'small/img/a/0.png', np.zeros((2, 2), np.uint8))
    write(tmp_path / 'small/ann/a/0.png', np.zeros((2, 2), np.uint8))
    step = ReadCopies('small', 'make them')
    results = step(
        dict(
            data_root=str(tmp_path),
            img_path=f'{tmp_path}/img/a/0.png',
            seg_map_path=f'{tmp_path}/ann/a/0.png',
            sample_key='a/0.png',
        )
    )
    assert results['img_path'] == f'{tmp_path}/small/img/a/0.png'
    assert results['seg_map_path'] == f'{tmp_path}/small/ann/a/0.png'
    assert results['sample_key'] == 'a/0.png'


def test_what_is_missing_is_named(tmp_path):
    step = ReadCopies('small', 'make them')
    image = dict(data_root=str(tmp_path), img_path=f'{tmp_path}/img/0.png')
    with pytest.raises(MissingFileError, match=r'small/img/0\.png'):
        step(image)
    with pytest.raises(UserError, match='leads out of'):
        step(dict(image, img_path='/elsewhere/0.png'))
    with pytest.raises(UserError, match='gives data_root'):
        step(dict(img_path='0.png'))
