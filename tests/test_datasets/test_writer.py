import numpy as np
import pytest

from mmcar.datasets import MultiAnnotatorWriter
from mmcar.utils.errors import UserError


@pytest.mark.parametrize('stem', ['../evil', '/evil', 'a/../../evil'])
def test_samples_stay_in_the_folder(tmp_path, stem):
    writer = MultiAnnotatorWriter(tmp_path / 'out')
    image = np.zeros((4, 4), np.uint8)
    with pytest.raises(UserError, match='leads out'):
        writer.write('train', stem, image, image[None])
    assert not list(tmp_path.rglob('*.png'))
