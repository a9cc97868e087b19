import json

import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

from mmcar.datasets.black_box_cache import encode
from mmcar.datasets.transforms import KeepImageForBlackBox, LoadBlackBoxProbs
from mmcar.utils.errors import UserError


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
    (tmp_path / 'cache/train').mkdir(parents=True)
    np.save(tmp_path / 'cache/train/x.npy', stored.round(3).astype(dtype))
    load = LoadBlackBoxProbs(str(tmp_path / 'cache'), num_classes=5)
    packed = TRANSFORMS.build({'type': 'PackStochasticInputs'})(
        load(results_for(tmp_path))
    )
    loaded = packed['data_samples'].black_box_probs.data.numpy()
    assert loaded.dtype == np.float32
    np.testing.assert_allclose(loaded.transpose(1, 2, 0), probs, atol=0.02)
    np.testing.assert_allclose(loaded.sum(0), 1, atol=1e-5)


def test_cached_probabilities_are_found_by_the_whole_key(tmp_path):
    for n, patient in enumerate(('p1', 'p2')):
        folder = tmp_path / f'cache/train/{patient}/s'
        folder.mkdir(parents=True)
        probs = np.zeros((2, 4, 6), np.float32)
        probs[n] = 1
        np.save(folder / '0.5.npy', probs)
    load = LoadBlackBoxProbs(str(tmp_path / 'cache'), num_classes=2)
    for n, patient in enumerate(('p1', 'p2')):
        key = f'train/{patient}/s/0.5.png'
        results = load({**results_for(tmp_path), 'sample_key': key})
        assert (results[f'black_box_probs_{n}'] == 1).all()
    with pytest.raises(UserError, match='leads out'):
        load({**results_for(tmp_path), 'sample_key': '../train/x.png'})


def test_wrong_caches_are_named(tmp_path):
    load = LoadBlackBoxProbs(str(tmp_path), num_classes=5)
    path = tmp_path / 'train/x.npy'
    path.parent.mkdir()
    with pytest.raises(FileNotFoundError, match=r'train/x\.npy'):
        load(results_for(tmp_path))
    for wrong in (
        np.ones((3, 4, 6)),
        -np.ones((5, 4, 6)),
        np.full((5, 4, 6), 0.9),
        np.full((5, 4, 6), np.nan),
        np.zeros((5, 4, 6), np.uint8),
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
    with pytest.raises(UserError, match='behind a flip'):
        load({**results_for(tmp_path), 'flip': True})


def test_wrong_cache_folders_are_named(tmp_path):
    load = LoadBlackBoxProbs(str(tmp_path), form='probs', scale=(6, 4))
    with pytest.raises(FileNotFoundError, match='holds no cache'):
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
    with pytest.raises(FileNotFoundError, match=r'x\.npz is missing: run'):
        load(results_for(tmp_path))
    (tmp_path / 'settings.json').write_text('{"form": "pro')
    load = LoadBlackBoxProbs(str(tmp_path), form='probs', scale=(6, 4))
    with pytest.raises(UserError, match=r'settings\.json is not readable'):
        load(results_for(tmp_path))


@pytest.mark.parametrize(
    'options', [dict(form='npz'), dict(), dict(form='top4')]
)
def test_wrong_options_are_named(options):
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
    with pytest.raises(UserError, match='found uint16'):
        keep({'img': np.zeros((4, 6, 3), np.uint16)})
