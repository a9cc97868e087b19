from pathlib import Path

import cv2
import numpy as np
import pytest

from mmcar.utils.errors import UserError
from tests.test_datasets.samples import write

from ..scripts import load_script

tool = load_script('dataset_converters/cityscapes24.py')
KNOWN_IDS = {7: 0, 8: 1, 11: 2, 12: 3, 13: 4, 17: 5, 19: 6, 20: 7, 21: 8}
KNOWN_IDS |= {22: 9, 23: 10, 24: 11, 25: 12, 26: 13, 27: 14, 28: 15}
KNOWN_IDS |= {31: 16, 32: 17, 33: 18}
ULM = 'ulm/ulm_000000_000019'
IMAGE = 'leftImg8bit/val/ulm/u_leftImg8bit.png'
LABEL = 'gtFine/val/ulm/u_gtFine_labelIds.png'


def write_cityscapes(root: Path) -> np.ndarray:
    """Both splits: an image of noise, a row of each label id from 3 to 34."""
    image = np.random.default_rng(0).integers(0, 256, (64, 128, 3), np.uint8)
    label = np.repeat(np.arange(32, dtype=np.uint8) + 3, 2)
    label = np.tile(label[:, None], (1, 128))
    for split in ('train', 'val'):
        write(root / f'leftImg8bit/{split}/{ULM}_leftImg8bit.png', image)
        write(root / f'gtFine/{split}/{ULM}_gtFine_labelIds.png', label)
    return image


@pytest.mark.parametrize('in_place', [False, True])
def test_cityscapes_at_full_size_and_small(tmp_path, capsys, in_place):
    root = tmp_path / 'raw'
    out = root if in_place else tmp_path / 'out'
    image = write_cityscapes(root)
    for _ in range(2):
        tool.main([str(root), str(out), '--height', '32'])
        assert 'val: 1 images' in capsys.readouterr().out
    expected = [KNOWN_IDS.get(i, 255) for i in range(3, 35)]
    name = f'gtFine/val/{ULM}_gtFine_labelTrainIds.png'
    for folder, shape in ((out, (64, 128)), (out / '32x64', (32, 64))):
        label = cv2.imread(str(folder / name), cv2.IMREAD_UNCHANGED)
        assert label.shape == shape
        assert label[:: shape[0] // 32, 0].tolist() == expected
    name = f'leftImg8bit/val/{ULM}_leftImg8bit.png'
    assert (cv2.imread(str(out / name)) == image).all()  # what B sees
    small = cv2.imread(str(out / '32x64' / name)).astype(float)
    means = image.reshape(32, 2, 64, 2, 3).mean((1, 3))
    assert np.abs(small - means).max() <= 0.5


def test_cityscapes_that_is_not_there(tmp_path):
    root, out, narrow = (tmp_path / name for name in ('raw', 'out', 'narrow'))
    write_cityscapes(root)
    write_cityscapes(out)  # other images where the links should be
    for name in (IMAGE, LABEL):
        write(narrow / name, np.zeros((8, 8), np.uint8))
    val = ('--splits', 'val')
    with pytest.raises(SystemExit):
        tool.main([str(root), str(tmp_path / 'x'), *val, 'val'])
    for given, to, message in (
        (tmp_path / 'none', tmp_path / 'x', 'unpack'),
        (root, out, 'other images'),
        (narrow, tmp_path / 'x', '8x8 pixels'),
    ):
        with pytest.raises(UserError, match=message):
            tool.main([str(given), str(to), *val])
