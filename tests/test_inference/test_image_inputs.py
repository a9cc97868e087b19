from pathlib import Path

import numpy as np
import pytest

from mmcar.inference.image_inputs import ImagePipeline
from mmcar.inference.image_list import input_shape, list_images
from tests.test_inference.models import (
    config_of,
    own_config,
    pipeline,
    read_bgr,
    stock_config,
    write_images,
)


def test_an_array_is_treated_as_its_file(tmp_path):
    path = write_images(tmp_path / 'x', [(8, 10)])[0]
    for cfg in (own_config(), stock_config()):
        prepare = ImagePipeline(cfg)
        file, array = (
            prepare(list_images(one)[0]) for one in (path, read_bgr(path))
        )
        assert file.packed['inputs'].equal(array.packed['inputs'])
        np.testing.assert_array_equal(file.picture, array.picture)
        np.testing.assert_array_equal(file.picture, read_bgr(path)[..., ::-1])
        assert input_shape(file) == (3, 8, 10)
        assert 'img_path' not in array.packed['data_samples'].metainfo


def test_grey_arrays_become_colour():
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8)
    prepare = ImagePipeline(stock_config())
    loaded = [
        prepare(list_images(a)[0]).packed['inputs']
        for a in (grey, grey[..., None], np.repeat(grey[..., None], 3, 2))
    ]
    assert loaded[0].equal(loaded[1])
    assert loaded[0].equal(loaded[2])


PIXELS = np.zeros((8, 8, 3), np.uint8)
CACHED = dict(type='LoadBlackBoxProbs', root='x', num_classes=2)


@pytest.mark.parametrize(
    ('cfg', 'array', 'message'),
    [
        (stock_config(), np.zeros((8, 8, 4), np.uint8), '4 channels'),
        (stock_config(), np.zeros((8,), np.uint8), r'shape \(8,\)'),
        (stock_config(), np.zeros((8, 8, 3)), 'float64'),
        (config_of({}, pipeline(CACHED)), PIXELS, 'LoadBlackBoxProbs'),
        (config_of({}, [dict(type='PackSegInputs')]), PIXELS, 'no image'),
    ],
)
def test_arrays_that_would_be_misread(cfg, array, message):
    with pytest.raises(ValueError, match=message):
        ImagePipeline(cfg)(list_images(array)[0])


def test_truncated_files_are_no_images(tmp_path):
    """OpenCV, which the stock loader uses, would fill them with grey."""
    path = write_images(tmp_path / 'x', [(64, 64)], '.jpg')[0]
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r'0\.jpg'):
        ImagePipeline(stock_config())(list_images(path)[0])


def test_labels_are_never_asked_for(tmp_path):
    path = write_images(tmp_path / 'x', [(16, 16)])[0]
    steps = pipeline(dict(type='LesionCenteredCrop', crop_size=8))
    steps.insert(2, dict(type='RandomClassFlips'))
    loaded = ImagePipeline(config_of({}, steps))(list_images(path)[0])
    assert input_shape(loaded) == (3, 16, 16)
