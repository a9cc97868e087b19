"""Boxes of other libraries, against the plain network."""

import numpy as np
import pytest
import torch
from mmengine.dataset import pseudo_collate
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import nn

from mmcar.models.data_preprocessor import InputNorm
from mmcar.utils.errors import UserError
from mmcar.wrapped_model import WrappedModel
from tests.toys import toy_model

CLASSES = 3
MEAN, STD = [110.0, 120.0, 130.0], [50.0, 60.0, 70.0]
OWN = dict(mean=MEAN, std=STD, bgr=True, divisor=4)
OUTER = InputNorm([9.0, 8.0, 7.0], [5.0, 6.0, 7.0], swapped=True)


def factory() -> nn.Module:
    """Scores of half the size, from sides that are multiples of four."""
    down = nn.Conv2d(3, 4, 2, 2), nn.BatchNorm2d(4), nn.ReLU()
    return nn.Sequential(*down, nn.Conv2d(4, CLASSES, 2, 2))


def function():
    return lambda images: images


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    net = factory()
    for weight in net.parameters():
        nn.init.normal_(weight)
    return net.eval()


@pytest.fixture
def box_cfg(net, tmp_path) -> dict:
    """A box with weights as many libraries write them."""
    path = tmp_path / 'net.pth'
    weights = {f'module.{k}': w for k, w in net.state_dict().items()}
    torch.save(weights, path)
    name = f'{__name__}:factory'
    return dict(type='TorchBlackBox', module=name, checkpoint=str(path), **OWN)


def plain(net: nn.Module, image: torch.Tensor) -> torch.Tensor:
    """What the network says of BGR pixels (3, h, w)."""
    column = (3, 1, 1)
    mean, std = (torch.tensor(x).view(column) for x in (MEAN, STD))
    seen = ((image.float() - mean) / std)[None]
    _, height, width = image.shape
    padding = (0, -width % 4, 0, -height % 4)
    seen = nn.functional.pad(seen, padding, mode='replicate')
    with torch.no_grad():
        logits = net(seen)
    size = seen.shape[2:]
    logits = nn.functional.interpolate(logits, size, mode='bilinear')
    return logits.softmax(1)[0, :, :height, :width]


def odd_image(height=13, width=18) -> torch.Tensor:
    return torch.randint(256, (3, height, width), dtype=torch.uint8)


def onnx_cfg(net: nn.Module, folder) -> dict:
    for needed in ('onnx', 'onnxruntime'):
        pytest.importorskip(needed)
    path = folder / 'net.onnx'
    axes = dict(x=dict(enumerate('bchw')))
    how = dict(dynamo=False, input_names=['x'], dynamic_axes=axes)
    torch.onnx.export(net, (torch.zeros(1, 3, 8, 8),), path, **how)
    return dict(type='OnnxBlackBox', path=str(path), **OWN)


def check_live(net: nn.Module, cfg: dict) -> None:
    """By itself, as it arrives in a model, and as the pipeline kept it."""
    box = MODELS.build(cfg)
    box.set_input_norm(OUTER)
    raw = odd_image()
    expected = plain(net, raw)
    assert expected.std() > 0.1 and box.num_classes == CLASSES
    probs, decision = box.predict_file(raw)
    close = dict(atol=1e-6, rtol=0)
    torch.testing.assert_close(probs, expected, **close)
    assert torch.equal(decision, expected.argmax(0, keepdim=True))
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in OUTER[:2])
    seen = (raw.flip(0).float() - mean) / std
    torch.testing.assert_close(box(seen[None])[0], expected, **close)
    sample = SegDataSample(metainfo=dict(img_shape=(13, 18)))
    sample.black_box_image = PixelData(data=raw)
    kept = box(torch.zeros(1, 3, 13, 18), [sample])[0]
    torch.testing.assert_close(kept, expected, **close)


def test_live_as_the_plain_network(net, box_cfg):
    check_live(net, box_cfg)


def test_onnx_live_as_the_plain_network(net, tmp_path):
    cfg = onnx_cfg(net, tmp_path)
    check_live(net, cfg)
    kind = type(MODELS.build(cfg))
    first = kind.identify(cfg)
    assert first == kind.identify(dict(cfg, one_hot=True))
    nn.init.normal_(net[0].weight)
    other = kind.identify(onnx_cfg(net, tmp_path))
    assert first['weights'] != other['weights']


def test_frozen_with_its_weights_in_the_state_dict(net, box_cfg):
    box = MODELS.build(box_cfg).train()
    box.init_weights()
    assert not any(module.training for module in box.modules())
    assert not any(weight.requires_grad for weight in box.parameters())
    own, expected = box.state_dict(), net.state_dict(prefix='wrapped.model.')
    assert own.keys() == expected.keys()
    assert all(torch.equal(own[key], expected[key]) for key in own)


@pytest.mark.parametrize('kind', ['torch', 'onnx'])
def test_samples_of_a_config_and_of_the_wrapped_model(
    kind, net, box_cfg, tmp_path
):
    box_cfg = box_cfg if kind == 'torch' else onnx_cfg(net, tmp_path)
    settings = dict(floor=0.02, correlation_length=4.0)
    norm = dict(type='SegDataPreProcessor', bgr_to_rgb=True, size_divisor=16)
    generator = dict(type='GumbelSampler', **settings)
    head = dict(type='CARHead', num_classes=CLASSES, generator=generator)
    model = toy_model(
        data_preprocessor=dict(norm, mean=OUTER.mean, std=OUTER.std),
        decode_head=dict(head, black_box=box_cfg),
        discriminator=None,
        test_cfg=dict(num_samples=5, seed=3),
    ).eval()
    raw = odd_image()
    meta = dict(img_path='a.png', sample_key='a', ori_shape=(13, 18))
    sample = SegDataSample(metainfo=meta)
    batch = pseudo_collate([dict(inputs=raw, data_samples=sample)])
    (found,) = model.test_step(batch)
    expected = WrappedModel(net, **OWN).sample(
        raw.flip(0)[None], 5, 3, keys=['a'], **settings
    )
    assert len(expected.unique()) == CLASSES
    np.testing.assert_array_equal(found.pred_samples.data, expected[0])


def test_windows_of_an_inferencer_reach_it(net, box_cfg):
    box = MODELS.build(box_cfg)
    box.set_window(((8, 8), (8, 8)))
    raw = odd_image(8, 16)
    probs, _ = box.predict_file(raw)
    halves = [plain(net, half) for half in raw.split(8, dim=2)]
    torch.testing.assert_close(probs, torch.cat(halves, 2))


def test_what_cannot_be_is_named(box_cfg, tmp_path):
    def refused(match, **changes):
        with pytest.raises(UserError, match=match):
            box = MODELS.build(dict(box_cfg, **changes))
            box(torch.zeros(1, 3, 8, 9))

    refused('num_classes=2', num_classes=2)
    refused('none.pth', checkpoint=str(tmp_path / 'none.pth'))
    refused('checkpoint', module=f'{__name__}:function')
    torch.save(nn.Conv2d(3, 3, 1).state_dict(), tmp_path / 'other.pth')
    refused('other.pth', checkpoint=str(tmp_path / 'other.pth'))
