"""Images are read with the values of the file, or refused."""

import os

import cv2
import mmcv
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mmcar.datasets import image_files
from mmcar.datasets.image_files import read_image, write_png
from mmcar.datasets.label_files import read_label
from mmcar.utils.errors import UserError

from .encoding import by_pillow, png16, pnm, tiff

DTYPES = ('u1', 'u2', 'u4', 'i1', 'i2', 'i4', 'f2', 'f4', 'f8')
SIZES = dict(height=st.integers(1, 40), width=st.integers(1, 40))


def random_pixels(dtype, height, width, channels, seed=0):
    rng = np.random.default_rng(seed)
    shape = (height, width, channels)
    if np.dtype(dtype).kind == 'f':
        return rng.normal(0, 100, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def read(tmp_path, data, color_type='unchanged'):
    path = tmp_path / 'image'
    path.write_bytes(data)
    return read_image(str(path), color_type)


def as_unchanged(pixels):
    """What `unchanged` makes of channels in the order of the file."""
    channels = pixels.shape[2]
    if channels == 1:
        return pixels[..., 0]
    return pixels[..., ::-1] if channels == 3 else pixels


def assert_same(image, expected):
    assert image.dtype == expected.dtype
    np.testing.assert_array_equal(image, expected)


KINDS = st.fixed_dictionaries(
    dict(
        byteorder=st.sampled_from('<>'),
        planarconfig=st.sampled_from(('contig', 'separate')),
        compression=st.sampled_from((None, 'zlib')),
    )
)


@settings(max_examples=40, deadline=None)
@given(
    **SIZES,
    channels=st.sampled_from((1, 2, 3, 4, 5, 13)),
    dtype=st.sampled_from(DTYPES),
    kind=KINDS,
    seed=st.integers(0, 99),
)
def test_tiff_of_any_kind(
    tmp_path_factory, height, width, channels, dtype, kind, seed
):
    pixels = random_pixels(dtype, height, width, channels, seed)
    data = tiff(pixels, **kind)
    image = read(tmp_path_factory.getbasetemp(), data)
    assert image.dtype.isnative
    assert_same(image, as_unchanged(pixels))


@pytest.mark.parametrize('dtype', ['u2', 'i2', 'f4'])
@pytest.mark.parametrize('channels', [1, 3])
def test_tiff_as_opencv_writes_it(tmp_path, dtype, channels):
    """By LZW, which tifffile alone does not read."""
    pixels = as_unchanged(random_pixels(dtype, 30, 31, channels))
    data = cv2.imencode('.tif', pixels)[1].tobytes()
    assert_same(read(tmp_path, data), pixels)


@settings(max_examples=12, deadline=None)
@given(**SIZES, channels=st.integers(1, 4), seed=st.integers(0, 99))
def test_png_of_16_bits(tmp_path_factory, height, width, channels, seed):
    pixels = random_pixels('u2', height, width, channels, seed)
    image = read(tmp_path_factory.getbasetemp(), png16(pixels))
    assert_same(image, as_unchanged(pixels))


@settings(max_examples=12, deadline=None)
@given(
    **SIZES,
    channels=st.sampled_from((1, 3)),
    maximum=st.sampled_from((1, 100, 256, 1023, 4095, 65535)),
)
def test_pnm_of_any_depth_is_not_stretched(
    tmp_path_factory, height, width, channels, maximum
):
    pixels = random_pixels('u2', height, width, channels)
    pixels = pixels % (maximum + 1.0)
    pixels = pixels.astype(np.uint16 if maximum > 255 else np.uint8)
    image = read(tmp_path_factory.getbasetemp(), pnm(pixels, maximum))
    assert_same(image, as_unchanged(pixels))


@pytest.mark.parametrize('encode', [png16, tiff])
def test_colour_types_of_deep_images(tmp_path, encode):
    options = {'photometric': 'rgb'} if encode is tiff else {}
    rgb = random_pixels('u2', 5, 6, 3)
    data = encode(rgb, **options)
    assert_same(read(tmp_path, data, 'color'), rgb[..., ::-1])
    with pytest.raises(UserError, match=r"3 channels.*'unchanged'"):
        read(tmp_path, data, 'grayscale')
    if encode is tiff:
        options['extrasamples'] = ['unassalpha']
    rgba = random_pixels('u2', 5, 6, 4)
    data = encode(rgba, **options)
    assert_same(read(tmp_path, data, 'color'), rgba[..., 2::-1])
    assert_same(read(tmp_path, data), rgba)


def make_8_bit_files():
    """8-bit files of each format and mode that Pillow reads."""
    rng = np.random.default_rng(0)
    rgba = Image.fromarray(rng.integers(0, 256, (9, 11, 4), np.uint8))
    for kind, modes in {
        'PNG': ('1', 'L', 'LA', 'P', 'RGB', 'RGBA'),
        'JPEG': ('L', 'RGB', 'CMYK'),
        'BMP': ('1', 'L', 'P', 'RGB'),
        'GIF': ('L', 'P'),
        'WEBP': ('RGB', 'RGBA'),
        'PPM': ('1', 'L', 'RGB'),
        'TIFF': ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'CMYK'),
    }.items():
        for mode in modes:
            image = rgba.convert('RGB').convert(mode)
            yield pytest.param(by_pillow(image, kind), id=f'{kind}-{mode}')
    lzw = by_pillow(rgba.convert('RGB'), 'TIFF', compression='tiff_lzw')
    yield pytest.param(lzw, id='TIFF-LZW')
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = by_pillow(rgba.convert('RGB'), 'JPEG', exif=exif)
    yield pytest.param(turned, id='JPEG-turned')


EIGHT_BIT_FILES = list(make_8_bit_files())


@pytest.mark.parametrize('data', EIGHT_BIT_FILES)
def test_8_bit_images_are_as_mmcv_reads_them(tmp_path, data):
    for flag in ('color', 'grayscale'):
        expected = mmcv.imfrombytes(data, flag=flag, backend='pillow')
        assert_same(read(tmp_path, data, flag), expected)
    image = read(tmp_path, data)
    assert image.dtype == np.uint8
    assert image.shape[:2] == expected.shape
    if image.ndim == 2:
        assert_same(image, expected)


@pytest.mark.parametrize('orientation', range(1, 9))
def test_all_depths_are_turned_alike(tmp_path, orientation):
    """As Pillow shows them; and labels are turned as images are."""
    pixels = random_pixels('u1', 5, 7, 1)
    tag = [(274, 'H', 1, orientation, True)]
    shallow = tiff(pixels, extratags=tag)
    deep = tiff(pixels.astype(np.uint16), extratags=tag)
    grey = Image.fromarray(pixels[..., 0].astype(np.uint16))
    options = dict(compression='tiff_lzw', tiffinfo={274: orientation})
    packed = by_pillow(grey, 'TIFF', **options)
    expected = read(tmp_path, shallow, 'grayscale')
    assert (expected.shape == (7, 5)) == (orientation > 4)
    for data in (shallow, deep, packed):
        for result in (
            read(tmp_path, data),
            read(tmp_path, data, 'grayscale'),
            read(tmp_path, data, 'color')[..., 1],
            read_label(str(tmp_path / 'image')),
        ):
            np.testing.assert_array_equal(result, expected)
    exif = Image.Exif()
    exif[274] = orientation
    for dtype in (np.uint8, np.uint16):
        image = Image.fromarray(pixels[..., 0].astype(dtype))
        turned = read(tmp_path, by_pillow(image, 'PNG', exif=exif))
        np.testing.assert_array_equal(turned, expected)
        label = read_label(str(tmp_path / 'image'))
        np.testing.assert_array_equal(label, expected)


WHOLE_FILES = [
    png16(random_pixels('u2', 30, 31, 3)),
    pnm(random_pixels('u2', 30, 31, 3), 65535),
    tiff(random_pixels('u2', 30, 31, 5)),
    tiff(random_pixels('f4', 30, 31, 1), rowsperstrip=4),
    tiff(random_pixels('u2', 30, 31, 1), compression='zlib'),
    cv2.imencode('.tif', random_pixels('u2', 30, 31, 3))[1].tobytes(),
] + [
    by_pillow(random_pixels('u1', 30, 31, 3), kind)
    for kind in ('PNG', 'JPEG', 'TIFF', 'BMP', 'PPM')
]


@pytest.mark.parametrize('data', WHOLE_FILES)
def test_no_part_of_a_file_is_an_image(tmp_path, data):
    for share in (0, 0.02, 0.3, 0.7, 0.95):
        part = data[: int(share * len(data))]
        with pytest.raises(UserError, match='image: not a readable image'):
            read(tmp_path, part, 'unchanged')


def test_a_small_file_may_not_unfold_into_gigabytes(tmp_path, monkeypatch):
    """A TIFF of zeros: its header alone says what it would take."""
    path = tmp_path / 'bomb.tif'
    path.write_bytes(tiff(np.zeros((512, 512, 1), 'f4'), compression='zlib'))
    assert read_image(str(path), 'unchanged').shape == (512, 512)
    monkeypatch.setattr(image_files, 'MOST_BYTES', 2**19)
    for open_file in (read_image, read_label):
        with pytest.raises(UserError, match=r'bomb\.tif: .* bytes'):
            open_file(str(path))


def test_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / 'pipe.png')
    with pytest.raises(UserError, match=r'pipe\.png'):
        read_image(str(tmp_path / 'pipe.png'))


@settings(max_examples=60, deadline=None)
@given(
    data=st.sampled_from(WHOLE_FILES),
    start=st.integers(0, 300),
    noise=st.binary(min_size=1, max_size=8),
)
def test_damage_is_told_as_a_sentence(tmp_path_factory, data, start, noise):
    damaged = bytearray(data)
    damaged[start : start + len(noise)] = noise
    try:
        image = read(tmp_path_factory.getbasetemp(), bytes(damaged))
    except UserError as error:
        assert 'image: ' in str(error)
    else:
        assert image.size


@pytest.mark.parametrize('kind', ['TIFF', 'GIF'])
def test_stacks_and_animations_are_refused(tmp_path, kind):
    pages = random_pixels('u1', 5, 6, 3)
    first, *rest = [Image.fromarray(pages[..., i]) for i in range(3)]
    data = by_pillow(first, kind, save_all=True, append_images=rest)
    with pytest.raises(UserError, match=r'3 \w+; expected one'):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ('data', 'message'),
    [
        (
            tiff(random_pixels('u2', 5, 6, 1), photometric='miniswhite'),
            'MINISWHITE',
        ),
        (tiff(np.ones((5, 6, 1), np.complex64)), 'complex64'),
        (
            cv2.imencode('.tif', random_pixels('u2', 5, 6, 4))[1].tobytes(),
            'uint16 by LZW; expected no packing',
        ),
        (tiff(np.full((5, 6, 1), np.nan, 'f4')), 'NaN or infinite'),
        (tiff(np.full((5, 6, 1), -np.inf, 'f4')), 'NaN or infinite'),
        (tiff(random_pixels('f4', 5, 6, 7)), "7 channels.*'unchanged'"),
        (by_pillow(random_pixels('u1', 9, 9, 3), 'JPEG2000'), 'JPEG2000'),
        (b'no image at all', 'not a readable image'),
    ],
)
def test_what_cannot_be_read_exactly_is_refused(tmp_path, data, message):
    with pytest.raises(UserError, match=f'image: .*{message}'):
        read(tmp_path, data, 'color')


def test_png_files_keep_16_bits(tmp_path):
    for dtype in (np.uint8, np.uint16):
        pixels = random_pixels(dtype, 5, 6, 3)
        write_png(tmp_path / 'a/x.png', pixels)
        stored = cv2.imread(str(tmp_path / 'a/x.png'), cv2.IMREAD_UNCHANGED)
        assert_same(stored, pixels)
    with pytest.raises(UserError, match='int64'):
        write_png(tmp_path / 'x.png', np.zeros((2, 2), np.int64))
    assert [p.name for p in tmp_path.rglob('*.*')] == ['x.png']


@pytest.mark.parametrize('read', [read_image, read_label])
def test_a_map_of_floats_is_not_clipped(tmp_path, read):
    """Pillow counts it among the PNM files, and would round 0 .. 1 to 0."""
    path = tmp_path / 'map.pfm'
    values = np.linspace(0, 1, 12, dtype='<f4')
    path.write_bytes(b'Pf\n4 3\n-1.0\n' + values.tobytes())
    with pytest.raises(UserError, match=r'map\.pfm: more than 8'):
        read(str(path))
