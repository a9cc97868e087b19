"""Label maps hold the ids that were stored, or are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mmcar.datasets.label_files import read_label
from mmcar.utils.errors import UserError

from .encoding import by_pillow, few_bits, png16, pnm, tiff


def read(tmp_path, data, **options):
    path = tmp_path / 'label'
    path.write_bytes(data)
    return read_label(str(path), **options)


def palette_png(label):
    image = Image.fromarray(label).convert('P')
    image.putdata(label.ravel().tolist())
    rng = np.random.default_rng(0)
    image.putpalette(rng.integers(0, 256, 768).tolist())
    return by_pillow(image, 'PNG')


ENCODERS = {
    'png': lambda label: by_pillow(label, 'PNG'),
    'palette': palette_png,
    'png16': lambda label: png16(label[..., None]),
    'tiff': lambda label: by_pillow(label, 'TIFF', compression='tiff_lzw'),
    'tiff_i16': lambda label: tiff(label[..., None].astype(np.int16)),
    'tiff_i32': lambda label: tiff(label[..., None].astype(np.int32)),
    'bmp': lambda label: by_pillow(label, 'BMP'),
    'gif': lambda label: by_pillow(label, 'GIF'),
    'pgm': lambda label: pnm(label[..., None], max(int(label.max()), 1)),
    'pgm16': lambda label: pnm(label[..., None], 60000),
}


@settings(max_examples=60, deadline=None)
@given(
    encoder=st.sampled_from(sorted(ENCODERS)),
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    ids=st.lists(st.integers(0, 255), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_ids_survive_every_lossless_format(
    tmp_path_factory, encoder, height, width, ids, seed
):
    rng = np.random.default_rng(seed)
    label = rng.choice(ids, (height, width)).astype(np.uint8)
    data = ENCODERS[encoder](label)
    result = read(tmp_path_factory.getbasetemp(), data)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, label)


@pytest.mark.parametrize('kind', ['PNG', 'TIFF'])
@pytest.mark.parametrize('bits', [1, 2, 4])
def test_ids_of_few_bits_are_not_stretched(tmp_path, kind, bits):
    """The largest one would become 255, which means unlabelled."""
    label = np.arange(16).reshape(2, 8) % 2**bits
    label[0, 0] = 2**bits - 1
    result = read(tmp_path, few_bits(label, bits, kind))
    np.testing.assert_array_equal(result, label)
    mask = label > 0
    np.testing.assert_array_equal(read(tmp_path, by_pillow(mask, kind)), mask)


GREY = np.random.default_rng(0).integers(0, 2, (8, 8), np.uint8)
COLOUR = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        (by_pillow(GREY, 'JPEG'), 'JPEG, which changes ids'),
        (by_pillow(GREY, 'WEBP'), 'WEBP, which changes ids'),
        (by_pillow(COLOUR, 'TIFF', compression='jpeg'), 'TIFF, which changes'),
        (by_pillow(Image.fromarray(COLOUR), 'GIF'), 'GIF in colours'),
        (by_pillow(GREY > 0, 'PPM'), 'PBM'),
        (by_pillow(GREY, 'TIFF', tiffinfo={262: 0}), 'zero is white'),
        (tiff(GREY[..., None].astype(np.float32)), 'float32'),
        (tiff(GREY[..., None].astype(np.int16) - 1), 'ids from -1 to 0'),
        (png16(GREY[..., None] * np.uint16(256)), 'ids from 0 to 256'),
        (by_pillow(COLOUR, 'PNG'), r'shape \(8, 8, 3\)'),
        (png16(COLOUR.astype(np.uint16)), r'shape \(8, 8, 3\)'),
        (by_pillow(GREY, 'PNG')[:60], 'not a readable image'),
    ],
)
def test_what_is_no_label_map_is_refused(tmp_path, data, message):
    with pytest.raises(UserError, match=f'label: .*{message}'):
        read(tmp_path, data)


def test_sizes_ids_and_twins_are_checked(tmp_path):
    data = by_pillow(GREY, 'PNG')
    with pytest.raises(UserError, match=r'of \(8, 8\).*image, \(8, 9\)'):
        read(tmp_path, data, shape=(8, 9))
    with pytest.raises(UserError, match=r'ids \[1\]; expected 0 to 0'):
        read(tmp_path, data, num_classes=1)
    with pytest.raises(UserError, match=r'ids \[1\].*twins \[1\]'):
        read(tmp_path, data, num_classes=2, class_flips=((0, 1, 0.5),))
    label = read(tmp_path, data, num_classes=9, label_map={0: 1, 1: 8})
    np.testing.assert_array_equal(label, np.where(GREY == 1, 8, 1))
