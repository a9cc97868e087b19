"""Small files of known loss."""

import io
import os

import numpy as np
import pytest

from mmcar.datasets import black_box_cache
from mmcar.datasets.black_box_cache import (
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


@pytest.mark.parametrize(
    ('form', 'classes', 'wrong'),
    [
        ('top4', 3, 'zeros'),
        ('probs', 19, 'zeros'),
        ('top4', 19, 'floats'),
        ('probs', 3, 'floats'),
        ('top4', 19, 'too much'),
        ('probs', 3, 'flat'),
        ('probs', 3, 'another name'),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused(
    form, classes, wrong, tmp_path
):
    data = encode(random_probs(1.0, classes), form)
    with np.load(io.BytesIO(data)) as arrays:
        arrays = dict(arrays)
    probs = arrays.pop('probs')
    key = 'p' if wrong == 'another name' else 'probs'
    arrays[key] = dict(
        zeros=np.where(np.arange(9) == 4, 0, probs).astype(np.uint8),
        floats=np.linspace(-300, 555, probs.size).reshape(probs.shape),
        flat=probs[0],
    ).get(wrong, np.full_like(probs, 200))
    np.savez(tmp_path / 'a.npz', **arrays)
    with pytest.raises(UserError, match=r'a\.npz'):
        read_cached(tmp_path / 'a.npz', form, classes)


def test_files_that_are_something_else_are_refused(tmp_path, monkeypatch):
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    large = encode(random_probs(1.0, 3), 'probs')
    monkeypatch.setattr(black_box_cache, 'MOST_BYTES', 200)
    for form, content in [
        ('probs', array.getvalue()),
        ('probs', large),
        ('top4', b''),
        ('labels', array.getvalue()),
    ]:
        path = cache_file(tmp_path, 'a.png', form)
        path.write_bytes(content)
        with pytest.raises(UserError, match=path.name):
            read_cached(path, form, 3)


@pytest.mark.parametrize(
    'content',
    ['{"form": "pro', '[]', '7', '[' * 99999, '{"num_classes": 1e400}'],
)
def test_settings_that_are_none(tmp_path, content):
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
