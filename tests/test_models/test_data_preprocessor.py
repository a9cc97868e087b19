"""Every field of a batch comes out at one size."""

import copy
from pathlib import Path

import mmcv
import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from mmcar.compat.configs import read_config
from mmcar.inference.model_loading import load_model
from mmcar.models import StochasticDataPreProcessor
from tests.toys import toy_batch, toy_model

ROOT = Path(__file__).parents[2]
CFG = dict(
    type='StochasticDataPreProcessor',
    mean=[127.5] * 3,
    std=[127.5] * 3,
    seg_pad_val=255,
    size_divisor=8,
)


def batch_with_predictions(size):
    batch = toy_batch(size=size)
    for sample in batch['data_samples']:
        probs = torch.rand(3, *size).softmax(0)
        sample.black_box_probs = PixelData(data=probs)
    return batch


@pytest.mark.parametrize('size', [(16, 16), (11, 13)])
def test_training_pads_all_fields_once(size):
    batch = batch_with_predictions(size)
    before = copy.deepcopy(batch['data_samples'])
    data = MODELS.build(CFG)(batch, training=True)
    height, width = data['inputs'].shape[2:]
    assert height % 8 == width % 8 == 0
    for sample, old in zip(data['data_samples'], before, strict=True):
        for key, fill in (('gt_sem_segs', 255), ('black_box_probs', 1 / 3)):
            maps, was = sample.get(key).data, old.get(key).data
            assert maps.shape[1:] == (height, width)
            assert torch.equal(maps[:, : size[0], : size[1]], was)
            assert (maps[:, size[0] :] == fill).all()
            assert (maps[:, :, size[1] :] == fill).all()
        assert sample.gt_sem_seg.data.shape[1:] == (height, width)
    for ours, old in zip(batch['data_samples'], before, strict=True):
        assert ours.metainfo == old.metainfo
        for key, maps in old.items():
            assert torch.equal(ours.get(key).data, maps.data)


@pytest.mark.parametrize(
    ('training', 'pad_val'), [(True, None), (False, None), (True, 3.0), (0, 0)]
)
def test_images_repeat_their_edge_or_get_a_value(pad_val, training):
    cfg = dict(CFG, pad_val=pad_val, test_cfg=dict(size_divisor=8))
    batch = toy_batch(size=(11, 13))
    expected = torch.stack(batch['inputs']).float().sub(127.5).div(127.5)
    places = torch.arange(16)
    rows, columns = places.clamp(max=10)[:, None], places.clamp(max=12)
    expected = expected[..., rows, columns]
    if pad_val is not None:
        expected[..., 11:, :] = expected[..., 13:] = pad_val
    found = MODELS.build(cfg)(batch, training)['inputs']
    torch.testing.assert_close(found, expected)


def test_padding_reaches_nobody_without_data_samples_either():
    cfg = dict(CFG, test_cfg=dict(size_divisor=8))
    model = toy_model(data_preprocessor=cfg).eval()
    (sample, _) = model.test_step(dict(inputs=toy_batch((11, 13))['inputs']))
    for key in ('pred_sem_seg', 'seg_logits', 'pred_samples', 'sample_probs'):
        assert sample.get(key).data.shape[1:] == (11, 13)


@pytest.fixture(scope='module')
def demo_model():
    path = ROOT / 'demo' / 'car_simulated.py'
    keys = dict(size_divisor=16, test_cfg=dict(size_divisor=16))
    keys = {f'model.data_preprocessor.{k}': v for k, v in keys.items()}
    weights = path.with_name('car_simulated-a8663049.pth')
    return load_model(read_config(path, keys), weights)


@pytest.mark.parametrize('pad_val', [None, 0.0])
def test_no_strip_of_classes_along_a_cut(demo_model, pad_val, monkeypatch):
    """Rows are cut off images; what is left is predicted as it was.

    Mid-grey, which training never showed, fails where the edge passes.
    """
    monkeypatch.setattr(demo_model.data_preprocessor, 'pad_val', pad_val)

    def predict(image):
        image = torch.from_numpy(np.ascontiguousarray(image)).movedim(-1, 0)
        sample = SegDataSample(metainfo=dict(sample_key='one'))
        sample.set_metainfo(dict(ori_shape=image.shape[1:]))
        data = dict(inputs=[image], data_samples=[sample])
        (found,) = demo_model.test_step(data, num_samples=8)
        return found.seg_logits.data.exp()[1], found.pred_samples.data

    def iou(one, other):
        either = ((one == 1) | (other == 1)).sum()
        return float(((one == 1) & (other == 1)).sum() / either.clamp(min=1))

    away, changes = 0.0, []
    for path in sorted((ROOT / 'demo/images/test').glob('*.png')):
        image = mmcv.imread(path)
        labels = ROOT / 'demo/annotations/test' / path.stem
        labels = [mmcv.imread(p, 'unchanged') for p in labels.glob('*.png')]
        labels = torch.from_numpy(np.stack(labels))
        probs, _ = predict(image)
        for h in (95, 81):
            differ = (predict(image[:h])[0] - probs[:h]).abs()
            away = max(away, float(differ[: h - 16].max()))
        # The first 64 rows end in the nodule.
        for turns, end in enumerate((63, 59, 53, 49)):
            turned, label = np.rot90(image, turns), labels.rot90(turns, (1, 2))
            _, whole = predict(turned[:64])
            _, cut = predict(turned[:end])
            last = slice(end - 16, end)
            changes += [
                iou(one[last], own[last]) - iou(was[last], own[last])
                for one, was in zip(cut, whole, strict=True)
                for own in label
            ]
    holds = away < 0.1 and abs(np.mean(changes)) < 0.02
    assert bool(holds) == (pad_val is None)


@pytest.mark.parametrize('key', ['mean', 'std'])
def test_normalisation_must_fit_the_channels(key):
    preprocessor = MODELS.build(dict(CFG, **{key: [1.0, 2.0]}))
    with pytest.raises(ValueError, match=key):
        preprocessor(toy_batch(size=(8, 8)), training=True)


def test_testing_pads_predictions_but_not_labels():
    cfg = dict(CFG, test_cfg=dict(size_divisor=8))
    data = MODELS.build(cfg)(batch_with_predictions((11, 13)))
    for sample in data['data_samples']:
        assert sample.black_box_probs.data.shape == (3, 16, 16)
        assert sample.gt_sem_segs.data.shape == (3, 11, 13)


def test_predictions_of_another_size_are_brought_to_the_image():
    batch = batch_with_predictions((8, 8))
    small = torch.tensor([0.25, 0.5, 0.25]).view(3, 1, 1).expand(3, 4, 4)
    batch['data_samples'][0].black_box_probs = PixelData(data=small.clone())
    data = MODELS.build(CFG)(batch)
    probs = data['data_samples'][0].black_box_probs.data
    torch.testing.assert_close(probs, small[:, :1, :1].expand(3, 8, 8))


@pytest.mark.parametrize(
    ('wrong', 'dtype'),
    [(2, torch.uint8), (254, torch.uint8), (2, torch.long), (-1, torch.long)],
)
def test_ids_of_no_class_are_refused(wrong, dtype):
    preprocessor = StochasticDataPreProcessor()
    preprocessor.expect_labels(2, ignore_index=255)
    for ignored in (0, 255):
        labels = torch.tensor([[[ignored, 1], [1, 0]]], dtype=dtype)
        sample = SegDataSample(gt_sem_seg=PixelData(data=labels))
        preprocessor._check_labels(sample)
        labels[0, 1, 1] = wrong
        with pytest.raises(ValueError, match=rf'ids \[{wrong}\]'):
            preprocessor._check_labels(sample)
    preprocessor.expect_labels(20, ignore_index=300)  # 44, as a byte
    sample = SegDataSample(gt_sem_seg=PixelData(data=labels.byte() * 0 + 44))
    with pytest.raises(ValueError, match=r'ids \[44\]'):
        preprocessor._check_labels(sample)
