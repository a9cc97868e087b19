"""Names of images: no two share one, and they do not depend on machines."""

from functools import partial

import pytest
from mmengine.dataset import ConcatDataset
from mmseg.datasets import BaseSegDataset
from mmseg.structures import SegDataSample

from mmcar.datasets import MultiAnnotatorDataset
from mmcar.structures import (
    KeyOwners,
    noise_key,
    refuse_shared_keys,
    sample_key,
    sample_key_below,
)
from mmcar.utils.errors import UserError


@pytest.mark.parametrize(
    ('folder', 'image', 'key'),
    [
        ('data/x/images/train', 'p1/s/0.png', 'train/p1/s/0.png'),
        ('/abs/val/', '0.png', 'val/0.png'),
        ('s3://bucket/val', '0.png', 'val/0.png'),
        ('images/./test', 'a/../0.png', 'test/a/../0.png'),
        ('', 'p1/0.png', 'p1/0.png'),
        ('.', '0.png', '0.png'),
        ('..', '0.png', '0.png'),
    ],
)
def test_key_below_a_folder(folder, image, key):
    assert sample_key_below(folder, image) == key


def test_key_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = 'data/p1/s/0.png'
    for path in (key, f'{tmp_path}/{key}', './data/x/../p1/s/0.png'):
        assert sample_key({'img_path': path}) == key
    outside = {'img_path': '../elsewhere/0.png'}
    assert sample_key(outside).endswith('/elsewhere/0.png')
    assert not sample_key(outside).startswith(('/', '.'))
    remote = {'img_path': 's3://bucket/val/0.png'}
    assert sample_key(remote) == 'bucket/val/0.png'
    assert sample_key({'img_path': 'a/b/c', 'sample_key': 'x/y/z'}) == 'x/y/z'
    assert sample_key(SegDataSample()) == ''


@pytest.mark.parametrize(
    ('path', 'key'),
    [
        ('data/x/val/0.png', 'val/0.png'),
        ('/mnt/y/leftImg8bit/val/ulm/0.png', 'ulm/0.png'),
        ('./val/../train/0.png', 'train/0.png'),
        ('s3://bucket/val/0.png', 'val/0.png'),
        ('/0.png', '0.png'),
        (None, ''),
    ],
)
def test_key_of_the_noise_of_a_path(path, key):
    """The same wherever the data lie."""
    assert noise_key({'img_path': path}) == key
    assert noise_key(SegDataSample(metainfo=dict(img_path=path))) == key
    for given in ('p1/0.png', ''):
        assert noise_key({'img_path': path, 'sample_key': given}) == given


def test_noise_does_not_depend_on_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / 'val').mkdir()
    for folder, path in ((tmp_path, 'val/0.png'), (tmp_path / 'val', '0.png')):
        monkeypatch.chdir(folder)
        assert noise_key({'img_path': path}) == 'val/0.png'


def test_owners(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    owners = KeyOwners('the noise of')
    owners.claim('val/0.png', 'a/val/0.png')
    owners.claim('val/0.png', f'{tmp_path}/a/val/0.png')
    with pytest.raises(UserError, match=r'a/val.* and b/val/.*noise of val/0'):
        owners.claim('val/0.png', 'b/val/0.png')


def test_joined_data_sets(tmp_path):
    """Of ours, which name images; others are known by their path."""

    shared = dict(
        data_prefix=dict(img_path='val'), metainfo=dict(classes=('a', 'b'))
    )

    def build(kind, root, **settings):
        (tmp_path / root / 'val').mkdir(parents=True, exist_ok=True)
        (tmp_path / root / 'val/0.png').touch()
        return kind(data_root=str(tmp_path / root), **shared, **settings)

    theirs = partial(build, BaseSegDataset, img_suffix='.png')
    ours = partial(build, MultiAnnotatorDataset)
    for datasets in (
        [theirs('a'), theirs('b')],
        [ours('a'), ours('b', key_prefix='b')],
        [ours('a'), ours('a')],
    ):
        refuse_shared_keys(ConcatDataset(datasets))
    refuse_shared_keys([1, 2])  # knows nothing
    with pytest.raises(UserError, match=r'a/val/0.* and .*b/'):
        refuse_shared_keys(ConcatDataset([ours('a'), ours('b')]))
