from pathlib import Path, PurePath

import numpy as np
import pytest
import torch
from PIL import Image

from mmcar.inference.image_list import list_images
from mmcar.utils.errors import UserError
from tests.test_inference.models import write_images


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
    assert names(path) == names(tmp_path / 'x[1]') == ['0']


def test_what_is_missing_is_named(tmp_path):
    for given, error, words in (
        (tmp_path / 'nowhere.png', FileNotFoundError, 'nowhere'),
        (f'{tmp_path}/*.png', FileNotFoundError, r'\*\.png'),
        (tmp_path, ValueError, 'no images'),
        ([], ValueError, 'no image'),
    ):
        with pytest.raises(error, match=words):
            list_images(given)
