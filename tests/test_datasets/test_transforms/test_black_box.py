"""Small files of known loss, and the transforms that read them."""

import io
import json
import os

import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

from mmcar.datasets.transforms import (
    KeepImageForBlackBox,
    LoadBlackBoxProbs,
    black_box,
)
from mmcar.datasets.transforms.black_box import (
    cache_fault,
    cache_file,
    decode,
    encode,
    read_cached,
    read_settings,
)
from mmcar.utils.errors import UserError


def random_probs(concentration, classes=19, size=(8, 9)):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(classes, concentration), size)
    return probs.transpose(2, 0, 1).astype(np.float32)


@pytest.mark.parametrize('concentration', [0.05, 1.0])
def test_loss_of_each_form_is_as_stated(concentration):
    probs = random_probs(concentration)
    labels = decode(encode(probs, 'labels'), 'labels', 19)
    assert (labels.argmax(0) == probs.argmax(0)).all()
    assert set(np.unique(labels)) == {0, 1}
    full = decode(encode(probs, 'probs'), 'probs', 19)
    np.testing.assert_allclose(full.sum(0), 1, atol=1e-6)
    # Half a step; normalising moves large values by the sum of all.
    assert np.abs(full - probs).max() < 0.02
    assert np.abs(full - probs).mean() < 1 / 510
    top = decode(encode(probs, 'top4'), 'top4', 19)
    np.testing.assert_allclose(top.sum(0), 1, atol=1e-6)
    order = np.argsort(-probs, axis=0)
    best = np.take_along_axis(probs, order[:4], 0)
    stored = np.take_along_axis(top, order[:4], 0)
    assert np.abs(best - stored).max() < 0.01
    others = np.take_along_axis(top, order[4:], 0)
    assert np.ptp(others, axis=0).max() < 1e-6


def test_files_are_named_by_the_key(tmp_path):
    path = cache_file(tmp_path, 'val/a/b_leftImg8bit.png', 'labels')
    assert path == tmp_path / 'val/a/b_leftImg8bit.png'
    assert cache_file(tmp_path, 'val/b.jpg', 'top4').name == 'b.npz'
    with pytest.raises(ValueError, match='leads out'):
        cache_file(tmp_path, '../b.jpg', 'top4')


@pytest.mark.parametrize('form', ['labels', 'top4', 'probs'])
def test_files_of_other_classes_are_refused(form):
    with pytest.raises((ValueError, IndexError)):
        decode(encode(random_probs(1.0), form), form, 3)


@pytest.mark.parametrize('form', ['top4', 'probs'])
def test_numbers_that_are_no_probabilities_are_refused(form, tmp_path):
    with np.load(io.BytesIO(encode(random_probs(1.0), form))) as arrays:
        probs, ids = arrays['probs'], arrays.get('ids')
    own = {} if ids is None else dict(ids=ids)
    strange = () if ids is None else (ids[:1], 0 * ids, ids.astype('i8'))
    for wrong in (
        *(dict(probs=probs, ids=other) for other in strange),
        dict(probs=np.where(np.arange(9) == 4, 0, probs).astype(np.uint8)),
        dict(probs=np.linspace(-9, 9, probs.size).reshape(probs.shape)),
        dict(probs=np.full_like(probs, 200)),
        dict(probs=probs[0]),
        dict(another_name=probs),
    ):
        np.savez(tmp_path / 'a.npz', **{**own, **wrong})
        with pytest.raises(UserError, match=r'a\.npz'):
            read_cached(tmp_path / 'a.npz', form, 19)


def test_files_that_are_something_else_are_refused(tmp_path, monkeypatch):
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    large = encode(random_probs(1.0, 3), 'probs')
    monkeypatch.setattr(black_box, 'MOST_BYTES', 200)
    for form, content in [
        *(('probs', array.getvalue()), ('probs', large), ('top4', b'')),
        ('labels', array.getvalue()),
    ]:
        path = cache_file(tmp_path, 'a.png', form)
        path.write_bytes(content)
        with pytest.raises(UserError, match=path.name):
            read_cached(path, form, 3)


def test_settings_that_are_none(tmp_path):
    for content in ('{"form": "pro', '[]', '[' * 9999, '{"num_classes": 1e4}'):
        (tmp_path / 'settings.json').write_text(content)
        with pytest.raises(UserError, match=r'settings\.json'):
            read_settings(tmp_path)


@pytest.mark.parametrize('form', ['labels', 'probs'])
def test_files_that_were_cut_anywhere(tmp_path, form):
    image = tmp_path / 'image.png'
    image.touch()
    path = cache_file(tmp_path, 'a.png', form)
    assert cache_fault(path, str(image)) == 'missing'
    data = encode(random_probs(1.0, 3), form)
    for end in range(0, len(data), 3):
        path.write_bytes(data[:end])
        assert cache_fault(path, str(image)) == 'cut short', end
    path.write_bytes(data)
    assert cache_fault(path, str(image)) is None


def test_files_older_than_their_image(tmp_path):
    path, image = cache_file(tmp_path, 'a.png', 'top4'), tmp_path / 'image.png'
    path.write_bytes(encode(random_probs(1.0), 'top4'))
    image.touch()
    os.utime(path, (10, 10))
    os.utime(image, (10, 10))
    assert cache_fault(path, str(image)) is None
    os.utime(image, (11, 11))
    assert cache_fault(path, str(image)) == 'older than its image'
    image.unlink()  # whoever reads it says so
    assert cache_fault(path, str(image)) is None


def results_for(tmp_path, size=(4, 6)):
    return {
        'img_path': str(tmp_path / 'images/train/x.png'),
        'sample_key': 'train/x.png',
        'ori_shape': size,
        'img_shape': size,
        'img': np.zeros((*size, 3), np.uint8),
    }


@pytest.mark.parametrize('dtype', [np.float32, np.float16, np.uint8])
def test_cached_probabilities_are_found_and_normalised(tmp_path, dtype):
    probs = np.random.default_rng(0).dirichlet(np.ones(5), (4, 6))
    stored = probs.transpose(2, 0, 1) * (255 if dtype is np.uint8 else 1)
    (tmp_path / 'cache/train/p1').mkdir(parents=True)
    np.save(tmp_path / 'cache/train/p1/0.5.npy', stored.round(3).astype(dtype))
    load = LoadBlackBoxProbs(str(tmp_path / 'cache'), num_classes=5)
    results = results_for(tmp_path) | dict(sample_key='train/p1/0.5.png')
    packed = TRANSFORMS.build({'type': 'PackStochasticInputs'})(load(results))
    loaded = packed['data_samples'].black_box_probs.data.numpy()
    assert loaded.dtype == np.float32
    np.testing.assert_allclose(loaded.transpose(1, 2, 0), probs, atol=0.02)
    np.testing.assert_allclose(loaded.sum(0), 1, atol=1e-5)
    with pytest.raises(UserError, match='leads out'):
        load({**results_for(tmp_path), 'sample_key': '../train/p1/0.5.png'})


def test_wrong_caches_are_named(tmp_path):
    load = LoadBlackBoxProbs(str(tmp_path), num_classes=5)
    path = tmp_path / 'train/x.npy'
    path.parent.mkdir()
    with pytest.raises(FileNotFoundError, match=r'train/x\.npy'):
        load(results_for(tmp_path))
    for wrong in (
        *(np.ones((3, 4, 6)), -np.ones((5, 4, 6)), np.full((5, 4, 6), 0.9)),
        *(np.full((5, 4, 6), np.nan), np.zeros((5, 4, 6), np.uint8)),
    ):
        np.save(path, wrong)
        with pytest.raises(UserError, match=r'x\.npy: .*expected'):
            load(results_for(tmp_path))
    path.write_bytes(path.read_bytes()[:99])
    with pytest.raises(UserError, match=r'x\.npy: not a readable'):
        load(results_for(tmp_path))


def make_cache(folder, probs, form, **settings):
    width_height = [probs.shape[2], probs.shape[1]]
    known = dict(form=form, scale=width_height, num_classes=len(probs))
    suffix = 'png' if form == 'labels' else 'npz'
    (folder / 'train').mkdir(parents=True, exist_ok=True)
    (folder / 'settings.json').write_text(json.dumps({**known, **settings}))
    (folder / f'train/x.{suffix}').write_bytes(encode(probs, form))


@pytest.mark.parametrize('form', ['labels', 'top4', 'probs'])
def test_caches_follow_the_size_of_the_image(tmp_path, form):
    probs = np.zeros((5, 4, 6), np.float32)
    probs[1, :, :3] = probs[4, :, 3:] = 1
    make_cache(tmp_path, probs, form)
    load = LoadBlackBoxProbs(str(tmp_path), form=form, scale=(6, 4))
    results = results_for(tmp_path, size=(64, 96))
    results['img_shape'] = (8, 12)
    load(results)
    assert results['black_box_cache'] == form
    planes = np.stack([results[f'black_box_probs_{c}'] for c in range(5)])
    assert planes.shape == (5, 8, 12)
    assert set(planes.argmax(0)[:, :6].ravel()) == {1}
    assert set(planes.argmax(0)[:, 6:].ravel()) == {4}
    np.testing.assert_allclose(planes.sum(0), 1, atol=1e-6)
    if form == 'labels':
        assert set(np.unique(planes)) == {0, 1}
    with pytest.raises(UserError, match='before flips'):
        load({**results_for(tmp_path), 'flip': True})


def test_wrong_cache_folders_are_named(tmp_path):
    load = LoadBlackBoxProbs(str(tmp_path), form='probs', scale=(6, 4))
    with pytest.raises(FileNotFoundError, match='is no cache'):
        load(results_for(tmp_path))
    probs = np.full((5, 4, 6), 0.2, np.float32)
    make_cache(tmp_path, probs, 'probs', scale=[3, 2])
    with pytest.raises(UserError, match='make them agree'):
        load(results_for(tmp_path))
    make_cache(tmp_path, probs, 'probs')
    (tmp_path / 'train/x.npz').write_bytes(b'PK half a file')
    with pytest.raises(UserError, match=r'x\.npz: not a readable'):
        load(results_for(tmp_path))
    (tmp_path / 'train/x.npz').unlink()
    with pytest.raises(FileNotFoundError, match=r'x\.npz is missing'):
        load(results_for(tmp_path))


def test_wrong_options_are_named():
    for options in (dict(form='npz'), dict(), dict(form='top4')):
        with pytest.raises(UserError, match='form'):
            LoadBlackBoxProbs('root', **options)


def test_the_image_is_kept_as_it_lies_on_disk(tmp_path):
    results = results_for(tmp_path)
    results['img'][1, 2] = (1, 2, 3)
    keep = KeepImageForBlackBox()
    results = keep(results)
    resize = TRANSFORMS.build({'type': 'Resize', 'scale': (3, 2)})
    packed = TRANSFORMS.build({'type': 'PackStochasticInputs'})(
        resize(results)
    )
    kept = packed['data_samples'].black_box_image.data
    assert kept.shape == (3, 4, 6) and kept[:, 1, 2].tolist() == [1, 2, 3]
    with pytest.raises(UserError, match='right behind'):
        keep(results)
    with pytest.raises(UserError, match='uint16'):
        keep({'img': np.zeros((4, 6, 3), np.uint16)})
