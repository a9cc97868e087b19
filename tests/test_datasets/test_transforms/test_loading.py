import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

from mmcar.datasets.transforms.loading import LoadBlackBoxProbs, majority
from mmcar.utils.errors import UserError


def test_majority_by_brute_force():
    rng = np.random.default_rng(0)
    labels = rng.choice([0, 1, 2, 255], (4, 9, 8)).astype(np.uint8)
    result = majority(labels)
    for y, x in np.ndindex(9, 8):
        votes = [v for v in labels[:, y, x].tolist() if v != 255]
        best = min(set(votes), key=lambda v: (-votes.count(v), v), default=255)
        assert result[y, x] == best


def test_majority_of_ignored_maps():
    assert (majority(np.full((2, 3, 3), 255, np.uint8)) == 255).all()


def results_for(tmp_path, size=(4, 6)):
    return {
        'img_path': str(tmp_path / 'images/train/x.png'),
        'ori_shape': size,
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
    with pytest.raises(FileNotFoundError, match=r'train/x\.npy'):
        load(results_for(tmp_path))
    (tmp_path / 'train').mkdir()
    np.save(tmp_path / 'train/x.npy', np.ones((3, 4, 6)))
    with pytest.raises(ValueError, match=r'expected \(5, 4, 6\)'):
        load(results_for(tmp_path))
    np.save(tmp_path / 'train/x.npy', -np.ones((5, 4, 6)))
    with pytest.raises(ValueError, match='expected probabilities'):
        load(results_for(tmp_path))


def test_an_image_without_labels_passes():
    load = TRANSFORMS.build(dict(type='LoadMultiAnnotations', draw=False))
    results = {'img_path': 'x.png'}
    assert load(dict(results)) == results
