import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from mmcar.report.page.encoding import (
    file_size,
    pack_bytes,
    pack_maps,
    pack_picture,
    percents,
    pick_pixels,
    plain,
    shown_size,
)

from .unpacking import unpack


@pytest.mark.parametrize('dtype', [np.uint8, np.uint16])
def test_maps_come_back(dtype):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 256, (5, 7)).astype(dtype)
    maps = rng.integers(0, 256, (3, 5, 7)).astype(dtype)
    kind = np.dtype(dtype).newbyteorder('<')
    found = unpack(pack_maps(base, maps), kind).reshape(4, 5, 7).copy()
    found[1:] += found[0]
    np.testing.assert_array_equal(found, np.concatenate([base[None], maps]))


def test_16_bits_are_little_endian():
    assert unpack(pack_bytes(np.array([258], '>u2'))).tolist() == [2, 1]


def test_maps_that_resemble_each_other_take_little_room():
    rng = np.random.default_rng(0)
    base = rng.integers(0, 20, (300, 300)).astype(np.uint8)
    maps = np.repeat(base[None], 16, 0)
    maps[3, 5:9] = 7
    assert len(pack_maps(base, maps)) < 1.2 * len(pack_bytes(base))


def test_percents_are_rounded_down():
    probs = np.float32([0, 0.0049, 0.29, 0.2999, 0.3, 0.999, 1])
    assert percents(probs).tolist() == [0, 0, 29, 29, 30, 99, 100]


def test_sizes():
    assert shown_size((100, 50), 200) == (100, 50)
    assert shown_size((1024, 2048), 512) == (256, 512)
    assert shown_size((1, 4096), 512) == (1, 512)


def test_pixels_are_picked_not_blended():
    maps = np.arange(24).reshape(4, 6)
    assert pick_pixels(maps, (2, 3)).tolist() == [[7, 9, 11], [19, 21, 23]]
    np.testing.assert_array_equal(pick_pixels(maps[None], (4, 6))[0], maps)


def test_a_picture_keeps_its_colours():
    picture = np.zeros((16, 16, 3), np.uint8)
    picture[..., 0] = 250  # red
    head, text = pack_picture(picture).split(',')
    assert head == 'data:image/jpeg;base64'
    found = np.array(Image.open(io.BytesIO(base64.b64decode(text))))
    assert abs(found.astype(int) - picture).max() < 6


def test_json_has_no_nan():
    value = dict(a=[float('nan'), np.float32(1.5)], b=(np.inf, 'x', None, 3))
    text = json.dumps(plain(value), allow_nan=False)
    assert json.loads(text) == {'a': [None, 1.5], 'b': [None, 'x', None, 3]}


def test_file_sizes():
    assert file_size(45_210) == '45 kB'
    assert file_size(12_345_678) == '12.3 MB'
