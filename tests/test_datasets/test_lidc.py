from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmcar.datasets import LIDCDataset

from .samples import write

CONFIGS = Path(__file__).parents[2] / 'configs/_base_/datasets'


@pytest.mark.parametrize('value', [1, 255])
def test_crops_as_published(tmp_path, value):
    """images/<patient>/*.png and gt/<patient>/*_l{0..3}.png, any values."""
    for split in ('train', 'test'):
        for patient in ('LIDC-IDRI-0001', 'LIDC-IDRI-0002'):
            folder = tmp_path / split
            name = f'{patient}/z-105.0_c0'
            image = np.full((180, 180), 90, np.uint8)
            write(folder / f'images/{name}.png', image)
            for reader in range(4):
                mask = np.zeros((180, 180), np.uint8)
                mask[60 : 70 + reader, 80:95] = value
                write(folder / f'gt/{name}_l{reader}.png', mask)
    config = Config.fromfile(f'{CONFIGS}/lidc.py')
    for split in ('train', 'test'):
        options = config[f'{split}_dataloader'].dataset
        options.data_root = str(tmp_path)
        data = DATASETS.build(options)
        assert len(data) == 2
        assert data.get_data_info(1)['patient'] == 'LIDC-IDRI-0002'
        packed = data[0]
        labels = packed['data_samples'].gt_sem_segs.data
        assert packed['inputs'].shape == (3, 128, 128)
        assert labels.shape == (4, 128, 128)
        assert labels.sum((1, 2)).tolist() == [150, 165, 180, 195]
        assert packed['data_samples'].ori_shape == (128, 128)


def test_patient_by_scan_uid():
    data = LIDCDataset(
        data_prefix={'img_path': 'images', 'seg_map_path': 'gt'},
        lazy_init=True,
    )
    uid = '1.3.6.1.4.1.14519.5.2.1.6279'
    assert data._record(f'{uid}_00012.png', [])['patient'] == uid
