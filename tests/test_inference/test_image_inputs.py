from pathlib import Path, PurePath

import numpy as np
import pytest
import torch
from PIL import Image

from mmcar.inference.image_inputs import (
    ImagePipeline,
    input_shape,
    list_images,
)
from mmcar.utils.errors import UserError
from tests.test_inference.models import (
    config_of,
    own_config,
    pipeline,
    read_bgr,
    stock_config,
    write_images,
)


def names(inputs):
    return [image.name for image in list_images(inputs)]


def test_files_folders_and_patterns_mean_the_same(tmp_path):
    paths = write_images(tmp_path / 'val', [(8, 8)] * 11)
    (tmp_path / 'val' / 'notes.txt').write_text('no image')
    expected = [str(i) for i in range(11)]  # 10 behind 9
    assert names(tmp_path / 'val') == expected
    assert names(f'{tmp_path}/val/*') == expected
    assert names(paths) == expected
    # Meant twice, predicted once.
    assert names([tmp_path / 'val', paths[3]]) == expected


def test_names_tell_folders_and_suffixes_apart(tmp_path):
    write_images(tmp_path / 'a', [(8, 8)])
    write_images(tmp_path / 'b' / 'c', [(8, 8)])
    write_images(tmp_path / 'b' / 'c', [(8, 8)], '.bmp')
    expected = ['a/0', 'b/c/0_bmp', 'b/c/0_png']
    assert names([f'{tmp_path}/a', f'{tmp_path}/b']) == expected
    assert names(tmp_path) == expected
    assert names(f'{tmp_path}/**/*.png') == ['a/0', 'b/c/0']


def test_every_image_has_a_name_of_its_own(tmp_path):
    for name in ('a.png', 'a.jpg', 'a_png.png', 'array_000.png', 'b.png.png'):
        (tmp_path / name).touch()
    (tmp_path / 'b.png').mkdir()
    (tmp_path / 'b.png' / '000.png').touch()
    array = np.zeros((8, 8, 3), np.uint8)
    listed = list_images([array, tmp_path, tmp_path / 'a.png', array])
    given = [image.name for image in listed]
    assert len(set(given)) == len(given) == 8
    assert given[0] == 'array_000' and given[-1] == 'array_003'
    # Where files of one would need a folder in place of another's file.
    files = {f'{name}.png' for name in given}
    folders = {str(p) for name in given for p in PurePath(name).parents}
    assert not files & folders
    # Names do not depend on the order, nor on listing them twice.
    assert {i.path: i.name for i in list_images([listed[-1], *listed[:-1]])}
    again = list_images(listed)
    assert [image.name for image in again] == given


def test_links_that_lead_nowhere_are_not_left_out(tmp_path):
    write_images(tmp_path, [(8, 8)])
    (tmp_path / 'self.png').symlink_to('self.png')
    (tmp_path / 'gone.png').symlink_to('nowhere.png')
    (tmp_path / 'loop').symlink_to(tmp_path)
    for given in (tmp_path, f'{tmp_path}/*', tmp_path.glob('*.png')):
        listed = given if isinstance(given, str | Path) else list(given)
        assert sorted(names(listed)) == ['0', 'gone', 'self']


@pytest.mark.parametrize(
    'wrong',
    [Image.new('RGB', (8, 8)), torch.zeros(3, 8, 8), 0.5, None, {}],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_image_is_named_by_its_type(wrong):
    for given in (wrong, [wrong], [[wrong]]):
        with pytest.raises(UserError) as caught:
            list_images(given)
        inner = 'list' if given == [[wrong]] else type(wrong).__name__
        assert inner in str(caught.value)


def test_a_name_that_looks_like_a_pattern(tmp_path):
    path = write_images(tmp_path / 'x[1]', [(8, 8)])[0]
    assert names(path) == ['0']
    assert names(tmp_path / 'x[1]') == ['0']


def test_arrays_have_numbers(tmp_path):
    path = write_images(tmp_path / 'x', [(8, 8)])[0]
    array = np.zeros((8, 8, 3), np.uint8)
    assert names(array) == ['array_000']
    assert names([path, array, array]) == ['0', 'array_001', 'array_002']


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match='nowhere'):
        list_images(tmp_path / 'nowhere.png')
    with pytest.raises(FileNotFoundError, match=r'\*\.png'):
        list_images(f'{tmp_path}/*.png')
    with pytest.raises(ValueError, match='no images'):
        list_images(tmp_path)
    with pytest.raises(ValueError, match='no image'):
        list_images([])


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


@pytest.mark.parametrize(
    ('array', 'message'),
    [
        (np.zeros((8, 8, 4), np.uint8), '4 channels'),
        (np.zeros((8,), np.uint8), r'shape \(8,\)'),
        (np.zeros((8, 8, 3)), 'float64'),
    ],
)
def test_arrays_that_would_be_misread(array, message):
    with pytest.raises(ValueError, match=message):
        ImagePipeline(stock_config())(list_images(array)[0])


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


def test_the_picture_follows_a_crop(tmp_path):
    path = write_images(tmp_path / 'x', [(16, 16)])[0]

    class Cropping(ImagePipeline):
        """Crops and says that the crop is the image."""

        def __init__(self, cfg):
            super().__init__(cfg)
            transform = self.transform

            def cropped(results):
                results['img'] = results['img'][4:12, 4:12].copy()
                results['img_shape'] = results['ori_shape'] = (8, 8)
                return transform(results)

            self.transform = cropped

    loaded = Cropping(config_of({}, pipeline()))(list_images(path)[0])
    expected = read_bgr(path)[4:12, 4:12, ::-1]
    np.testing.assert_array_equal(loaded.picture, expected)


def test_a_pipeline_without_a_loader():
    cfg = config_of({}, [dict(type='PackSegInputs')])
    with pytest.raises(ValueError, match='loads no image'):
        ImagePipeline(cfg)


def test_arrays_have_no_cached_predictions():
    steps = pipeline(dict(type='LoadBlackBoxProbs', root='x', num_classes=2))
    prepare = ImagePipeline(config_of({}, steps))
    with pytest.raises(ValueError, match='LoadBlackBoxProbs'):
        prepare(list_images(np.zeros((8, 8, 3), np.uint8))[0])
