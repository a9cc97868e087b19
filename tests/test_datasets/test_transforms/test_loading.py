import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmseg.registry import TRANSFORMS

from mmcar.datasets.transforms import (
    NormalizePercentiles,
    RandomClassFlips,
    ReadCopies,
    WindowIntensity,
)
from mmcar.datasets.transforms.loading import majority
from mmcar.utils.errors import UserError
from tests.test_datasets.samples import write

from ..encoding import png16, tiff
from .test_geometry import coded_results

RAMP = np.linspace(500, 60000, 120).astype(np.uint16).reshape(10, 12, 1)
PACK = {'type': 'PackStochasticInputs'}


def load(tmp_path, data, *steps):
    path = tmp_path / 'x.img'
    path.write_bytes(data)
    results = {'img_path': str(path)}
    for step in ({'type': 'LoadCheckedImage'}, *steps):
        results = TRANSFORMS.build(step)(results)
    return results


def test_window_maps_its_ends_to_those_of_8_bits():
    image = np.array([[-2000, -1000, -300, 400, 3000]], np.int16)
    result = WindowIntensity(-1000, 400)({'img': image})['img']
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, [[0, 0, 127.5, 255, 255]], atol=1e-4)


def test_percentiles_by_hand_and_by_channel():
    image = np.stack([np.arange(101.0), 7 * np.arange(101.0) + 3], -1)[None]
    result = NormalizePercentiles(10, 90)({'img': image})['img']
    expected = (np.arange(101) - 10).clip(0, 80) * 255 / 80
    np.testing.assert_allclose(result[0, :, 0], expected, atol=1e-4)
    np.testing.assert_allclose(result[0, :, 1], expected, atol=1e-4)
    grey = NormalizePercentiles(10, 90)({'img': image[..., 0]})['img']
    np.testing.assert_array_equal(grey, result[..., 0])


@settings(max_examples=25, deadline=None)
@given(
    dtype=st.sampled_from(('u1', 'u2', 'i2', 'i4', 'f4', 'f8')),
    spread=st.integers(0, 100),
    offset=st.integers(0, 100),
    seed=st.integers(0, 99),
)
def test_the_result_fits_8_bits_and_keeps_the_order(
    dtype, spread, offset, seed
):
    rng = np.random.default_rng(seed)
    image = (offset + spread * rng.random((5, 6, 3))).astype(dtype)
    for transform in (NormalizePercentiles(), WindowIntensity(0, 50)):
        result = transform({'img': image.copy()})['img']
        assert result.dtype == np.float32 and result.shape == image.shape
        assert result.min() >= 0 and result.max() <= 255
        for c in range(3):
            order = np.argsort(image[..., c], axis=None)
            assert (np.diff(result[..., c].ravel()[order]) >= 0).all()


def test_few_bright_spots_on_black_are_kept():
    image = np.zeros((50, 50), np.uint16)
    image[3, 4], image[5, 6] = 1000, 2000
    result = NormalizePercentiles()({'img': image})['img']
    assert result[5, 6] == 255 and result[3, 4] == 127.5
    assert (NormalizePercentiles()({'img': image * 0})['img'] == 0).all()


def test_impossible_ranges_are_refused():
    for low, high in ((5, 5), (5, float('nan'))):
        with pytest.raises(UserError, match='low'):
            WindowIntensity(low, high)
    for lower, upper in ((-1, 50), (60, 50), (0, 101), (0.005, 0.995)):
        with pytest.raises(UserError, match='upper'):
            NormalizePercentiles(lower, upper)


@pytest.mark.parametrize(
    ('data', 'dtype'),
    [
        (png16(RAMP), 'uint16'),
        (tiff(RAMP.astype(np.int32)), 'int32'),
        (tiff(RAMP / np.float32(60000)), 'float32'),
        (tiff(RAMP / 60000), 'float64'),
    ],
)
def test_raw_values_do_not_reach_the_model_unasked(tmp_path, data, dtype):
    resize = {'type': 'Resize', 'scale': (6, 5)}
    for steps in ((), (resize,) if dtype != 'int32' else ()):
        with pytest.raises(UserError, match=f'{dtype}.*WindowIntensity'):
            load(tmp_path, data, *steps, PACK)
    packed = load(tmp_path, data, {**PACK, 'raw_range': True})
    assert packed['inputs'].dtype == torch.float32
    scale = 60000 if dtype.startswith('float') else 1
    np.testing.assert_allclose(
        packed['inputs'][0].numpy() * scale, RAMP[..., 0], atol=0.01
    )
    for step in (
        {'type': 'WindowIntensity', 'low': 0, 'high': 60000 / scale},
        {'type': 'NormalizePercentiles'},
    ):
        packed = load(tmp_path, data, step, resize, PACK)
        assert packed['inputs'].dtype == torch.float32
        assert 200 < packed['inputs'].max() <= 255


def test_values_that_were_clipped_before_are_noticed(tmp_path):
    distort = {'type': 'PhotoMetricDistortion'}
    window = {'type': 'WindowIntensity', 'low': 0, 'high': 60000}
    np.random.seed(0)
    with pytest.raises(UserError, match='right behind LoadCheckedImage'):
        load(tmp_path, png16(RAMP), distort, window, PACK)
    with pytest.raises(UserError, match='uint16 instead'):
        load(tmp_path, png16(RAMP), distort, PACK)
    packed = load(tmp_path, png16(RAMP), window, distort, PACK)
    assert packed['inputs'].max() <= 255


def test_majority_by_brute_force():
    rng = np.random.default_rng(0)
    labels = rng.choice([0, 1, 2, 255], (4, 9, 8)).astype(np.uint8)
    labels[:, 0] = 255  # nobody labelled it
    result = majority(labels)
    for y, x in np.ndindex(9, 8):
        votes = [v for v in labels[:, y, x].tolist() if v != 255]
        best = min(set(votes), key=lambda v: (-votes.count(v), v), default=255)
        assert result[y, x] == best


def test_paths_lead_to_the_copies(tmp_path):
    names = dict(img_path='img/a/0.png', seg_map_path='ann/a/0.png')
    for name in names.values():
        write(tmp_path / 'small' / name, np.zeros((2, 2), np.uint8))
    image = dict(
        data_root=str(tmp_path),
        sample_key='a/0.png',
        **{key: f'{tmp_path}/{name}' for key, name in names.items()},
    )
    step = ReadCopies('small', 'make them')
    copies = {key: f'{tmp_path}/small/{name}' for key, name in names.items()}
    assert step(dict(image)) == image | copies
    for path, message in (
        (f'{tmp_path}/img/0.png', r'small/img/0\.png'),
        ('/elsewhere/0.png', 'leads out of'),
    ):
        with pytest.raises(UserError, match=message):
            step(dict(image, img_path=path))
    with pytest.raises(UserError, match='gives data_root'):
        step(dict(img_path='0.png'))


FLIPS = ((1, 6, 8 / 17), (2, 7, 7 / 17), (3, 8, 1 / 17), (4, 9, 1.0))


def test_flip_frequencies_match_the_table():
    np.random.seed(1)
    label = np.array([0, 1, 2, 3, 4, 5, 255], np.uint8).repeat(5)
    transform, draws = RandomClassFlips(FLIPS), 4000
    maps = [transform(dict(gt_seg_map=label)) for _ in range(draws)]
    maps = np.stack([m['gt_seg_map'] for m in maps]).reshape(draws, 7, 5)
    # A whole class has one state, everything else stays.
    assert (maps == maps[..., :1]).all()
    assert (maps[:, [0, 5, 6], 0] == [0, 5, 255]).all()
    sources, twins, probability = map(np.array, zip(*FLIPS, strict=True))
    flipped = maps[:, 1:5, 0] == twins
    assert (flipped | (maps[:, 1:5, 0] == sources)).all()
    error = np.sqrt(probability * (1 - probability) / draws)
    assert (abs(flipped.mean(0) - probability) <= 3 * error).all()
    correlation = np.corrcoef(flipped[:, :3].T)[np.triu_indices(3, 1)]
    assert abs(correlation).max() < 3.5 / np.sqrt(draws)


def test_flips_change_the_drawn_label_alone():
    results = coded_results(8, 8, 1)
    results['class_flips'] = ((1, 200, 1.0),)
    results = RandomClassFlips()(results)
    assert (results['gt_seg_map'] == 200).sum() == 1
    assert (results['gt_seg_map_0'] == 200).sum() == 0
    with pytest.raises(UserError, match='class_flips'):
        RandomClassFlips()(dict(gt_seg_map=results['gt_seg_map']))
