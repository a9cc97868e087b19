import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.registry import init_default_scope
from mmseg.registry import TRANSFORMS

BOTH = ['horizontal', 'vertical']
GEOMETRY = {
    'flip': {'type': 'RandomFlip', 'prob': [0.4, 0.4], 'direction': BOTH},
    'crop': {'type': 'RandomCrop', 'crop_size': (11, 13)},
    'centre': {'type': 'CenterCropAll', 'crop_size': (12, 14)},
    'lesion': {'type': 'LesionCenteredCrop', 'crop_size': (9, 10)},
    'pad': {'type': 'PadAll', 'size_divisor': 8},
}


def coded_results(height, width, annotators, channels=6):
    """Every array carries its pixel's number, so any mismatch is seen."""
    code = np.arange(height * width).reshape(height, width)
    maps = {
        f'gt_seg_map_{a}': ((code + a) % 251).astype(np.uint8)
        for a in range(annotators)
    }
    maps['gt_seg_map'] = maps['gt_seg_map_0'].copy()
    planes = {
        f'black_box_probs_{c}': (code * 1e-4 + c).astype(np.float32)
        for c in range(channels)
    }
    image = np.stack([code % 251, code // 251, code * 0], -1)
    return {
        'img': image.astype(np.uint8),
        'img_shape': (height, width),
        'ori_shape': (height, width),
        **maps,
        **planes,
        'seg_fields': [*maps, *planes],
    }


@settings(max_examples=25, deadline=None)
@given(
    height=st.integers(16, 40),
    width=st.integers(16, 40),
    annotators=st.integers(1, 6),
    steps=st.lists(st.sampled_from(sorted(GEOMETRY)), min_size=1, max_size=4),
    seed=st.integers(0, 2**31),
)
def test_everything_moves_together(height, width, annotators, steps, seed):
    init_default_scope('mmseg')
    np.random.seed(seed)
    results = coded_results(height, width, annotators)
    for step in steps:
        if min(results['img'].shape[:2]) < 14:
            break
        results = TRANSFORMS.build(GEOMETRY[step])(results)
    image = results['img'].astype(int)
    code = image[..., 0] + 251 * image[..., 1]
    filled = results['gt_seg_map'] == 255
    for a in range(annotators):
        label = results[f'gt_seg_map_{a}']
        assert label.shape == code.shape
        assert ((label == (code + a) % 251) | filled).all()
        assert ((label == 255) == filled).all()
    for c in range(6):
        probs = results[f'black_box_probs_{c}']
        assert probs.shape == code.shape
        assert np.isclose(probs, code * 1e-4 + c, atol=1e-5)[~filled].all()
        assert (probs[filled] == 255).all()


@settings(max_examples=12, deadline=None)
@given(
    scale=st.integers(8, 50), ratio=st.floats(0.5, 2), seed=st.integers(0, 99)
)
def test_resize_treats_maps_and_predictions_alike(scale, ratio, seed):
    init_default_scope('mmseg')
    np.random.seed(seed)
    results = coded_results(20, 30, 3)
    step = {'type': 'RandomResize', 'scale': (scale, scale)}
    step |= {'ratio_range': (min(1, ratio), max(1, ratio))}
    step |= {'keep_ratio': bool(seed % 2)}
    results = TRANSFORMS.build(step)(results)
    shape = results['img'].shape[:2]
    code = np.round(results['black_box_probs_0'] * 1e4).astype(int)
    assert code.shape == shape
    for a in range(3):
        assert (results[f'gt_seg_map_{a}'] == (code + a) % 251).all()


@pytest.mark.parametrize(
    ('classes', 'fill'),
    [
        (150, {'type': 'PadAll', 'size': (16, 12)}),
        (4, {'type': 'PadAll', 'size': (16, 12), 'padding_mode': 'edge'}),
        (4, {'type': 'RandomRotate', 'prob': 1.0, 'degree': (30, 30)}),
    ],
)
def test_filled_pixels_become_uniform_predictions(classes, fill):
    results = coded_results(10, 10, 1, classes)
    for c in range(classes):
        plane = np.full((10, 10), float(c == 1), np.float32)
        results[f'black_box_probs_{c}'] = plane
    for step in (fill, {'type': 'PackStochasticInputs'}):
        results = TRANSFORMS.build(step)(results)
    sample = results['data_samples']
    filled = sample.gt_sem_segs.data[0] == 255
    assert filled.any() and not filled.all()
    probs = sample.black_box_probs.data
    assert probs.shape == (classes, *filled.shape)
    assert (probs[:, filled] == np.float32(1 / classes)).all()
    assert (probs[1, ~filled] == 1).all() and (probs[0, ~filled] == 0).all()


@pytest.mark.parametrize('size', [(59, 61), (40, 40)])
def test_centre_crop_does_not_look_at_labels(size):
    results = coded_results(*size, annotators=2)
    top, left = (size[0] - 40) // 2, (size[1] - 40) // 2
    wanted = {
        key: results[key][top : top + 40, left : left + 40].copy()
        for key in ['img', *results['seg_fields']]
    }
    crop = TRANSFORMS.build({'type': 'CenterCropAll', 'crop_size': 40})
    cropped = crop(results)
    for key, value in wanted.items():
        np.testing.assert_array_equal(cropped[key], value)
    assert cropped['img_shape'] == cropped['ori_shape'] == (40, 40)
    with pytest.raises(ValueError, match='smaller than the crop'):
        crop({'img': np.zeros((30, 50, 3), np.uint8)})


def test_lesion_crop_is_centred_on_all_annotators():
    maps = np.zeros((2, 180, 180), np.uint8)
    maps[0, 20:30, 90:100] = 1
    maps[1, 30:50, 94:120] = 1
    results = {
        'img': np.zeros((180, 180, 3), np.uint8),
        'gt_seg_map': maps[0] * 0,
        'gt_seg_map_0': maps[0],
        'gt_seg_map_1': maps[1],
        'seg_fields': ['gt_seg_map', 'gt_seg_map_0', 'gt_seg_map_1'],
    }
    crop = TRANSFORMS.build({'type': 'LesionCenteredCrop', 'crop_size': 40})
    rows, columns = np.nonzero(
        sum(crop(dict(results))[f'gt_seg_map_{a}'] for a in (0, 1))
    )
    assert (rows.min(), rows.max()) == (5, 34)
    assert (columns.min(), columns.max()) == (5, 34)
    big = TRANSFORMS.build({'type': 'LesionCenteredCrop', 'crop_size': 128})
    cropped = big(dict(results))
    # Moved down as far as needed to lie inside the image.
    assert np.nonzero(cropped['gt_seg_map_0'])[0].min() == 20
    assert cropped['img'].shape == (128, 128, 3)
    assert cropped['ori_shape'] == (128, 128)


@pytest.mark.parametrize('channels', [4, 9])
def test_padding_takes_any_number_of_channels(channels):
    image = np.random.default_rng(0).integers(0, 999, (3, 5, channels))
    image = image.astype(np.uint16)
    pad = dict(type='PadAll', size=(8, 6), padding_mode='edge')
    results = TRANSFORMS.build(pad)(dict(img=image))
    padded = np.pad(image, ((0, 3), (0, 3), (0, 0)), 'edge')
    np.testing.assert_array_equal(results['img'], padded)
    assert results['pad_shape'] == padded.shape
