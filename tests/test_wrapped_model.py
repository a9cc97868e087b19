"""Wrapped models against the plain ones, at odd sizes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmcar.utils.errors import UserError
from mmcar.wrapped_model import WrappedModel

MEAN, STD = [110.0, 120.0, 130.0], [50.0, 60.0, 70.0]


class Halving(nn.Module):
    """Scores of half the size; refuses sides that it cannot halve."""

    def __init__(self, classes=3):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, classes, 2, 2)
        self.norm = nn.BatchNorm2d(classes)

    def forward(self, images):
        assert not images.shape[2] % 2 and not images.shape[3] % 2
        return 3 * self.norm(self.conv(images))


@pytest.fixture
def net():
    return Halving().eval()


@pytest.fixture
def images():
    random = torch.Generator().manual_seed(1)
    shape = (2, 3, 13, 17)
    return torch.randint(256, shape, generator=random, dtype=torch.uint8)


def normalized(images):
    """Pixel by pixel, as MMSeg's preprocessor does."""
    mean, std = (torch.tensor(x)[:, None, None] for x in (MEAN, STD))
    return (images.float() - mean) / std


def plain(net, images):
    seen = F.pad(normalized(images), (0, 1, 0, 1), mode='replicate')
    logits = F.interpolate(net(seen), scale_factor=2, mode='bilinear')
    return logits.softmax(1)[..., :13, :17]


@torch.no_grad()
def test_odd_sizes_are_padded_by_the_edge_and_cut(net, images):
    model = WrappedModel(net, mean=MEAN, std=STD, divisor=2)
    assert torch.allclose(model(images), plain(net, images), atol=1e-6)
    array = images.permute(0, 2, 3, 1).numpy()
    for same in (array, array.astype('>u2'), array[:, ::-1][:, ::-1]):
        assert torch.equal(model(same), model(images))
    model = WrappedModel(net, mean=MEAN, std=STD, divisor=2, bgr=True)
    expected = plain(net, images.flip(1))
    assert torch.allclose(model(images), expected, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize(
    'pack, key',
    [
        (lambda x: dict(aux=None, out=x), None),
        (lambda x: SimpleNamespace(logits=x), None),
        (lambda x: dict(scores=x), 'scores'),
        (lambda x: dict(values=x), 'values'),  # a method's name, too
        (lambda x: (None, x), 1),
        (lambda x: x.numpy(), None),
    ],
)
def test_scores_are_found_in_what_models_give(net, images, pack, key):
    model = WrappedModel(lambda x: pack(net(x)), key=key, divisor=2)
    expected = WrappedModel(net, divisor=2)(images)
    assert torch.equal(model(images), expected)


@torch.no_grad()
def test_kinds_of_scores(images):
    net = Halving(2).eval()
    logits = WrappedModel(net, divisor=2)(images)
    up = nn.Upsample(scale_factor=2, mode='bilinear')
    for output, scores in (
        ('probs', lambda x: up(net(x)).softmax(1)),
        ('probs', lambda x: up(net(x)).softmax(1)[:, 1:]),
        ('sigmoid', lambda x: net(x)[:, 1:] - net(x)[:, :1]),
    ):
        model = WrappedModel(scores, output=output, divisor=2)
        assert torch.allclose(model(images), logits, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize(
    'dtype, close', [(torch.float64, 1e-6), (torch.bfloat16, 0.1)]
)
def test_weights_of_any_precision(images, dtype, close):
    settings = dict(mean=MEAN, std=STD, divisor=2)
    found = WrappedModel(Halving().eval().to(dtype), **settings)(images)
    expected = WrappedModel(Halving().eval(), **settings)(images)
    assert torch.allclose(found, expected, atol=close)


@pytest.mark.parametrize(
    'scores, scale, settings',
    [
        (lambda x: x, 1, dict(mean=[0.4] * 3, std=0.2)),
        (lambda x: x, 1 / 255, dict(mean=MEAN, std=STD)),
        (lambda x: x[:, :1].sigmoid(), 1, dict(output='sigmoid')),
    ],
)
def test_a_likely_mistake_is_told(scores, scale, settings, images):
    with pytest.warns(UserWarning, match='range|probs'):
        WrappedModel(scores, **settings)(images * scale)


@pytest.mark.filterwarnings('error')
def test_usual_ranges_are_not(net, images):
    settings = dict(mean=[0.4] * 3, std=0.2, divisor=2)
    WrappedModel(net, **settings)(images / 255)
    WrappedModel(net, mean=MEAN, std=STD, divisor=2)(images)
    WrappedModel(lambda x: x[:, :1] - 9, output='sigmoid')(images)


@torch.no_grad()
def test_windows_of_a_pointwise_network_change_nothing(images):
    torch.manual_seed(0)
    net = nn.Conv2d(3, 4, 1).eval()
    whole = WrappedModel(net, mean=MEAN, std=STD)(images)
    seen = []

    def spy(x):
        seen.append(tuple(x.shape[2:]))
        return net(x)

    model = WrappedModel(spy, mean=MEAN, std=STD, window=(6, 8))
    assert torch.allclose(model(images), whole, atol=1e-6)
    assert set(seen) == {(6, 8)}


@torch.no_grad()
def test_a_size_of_its_own(net, images):
    model = WrappedModel(net, mean=MEAN, std=STD, size=(8, 10))
    how = dict(mode='bilinear', antialias=True)
    seen = F.interpolate(normalized(images), (8, 10), **how)
    logits = F.interpolate(net(seen), scale_factor=2, mode='bilinear')
    expected = F.interpolate(logits.softmax(1), (13, 17), **how)
    assert torch.allclose(model(images), expected, rtol=0, atol=1e-6)


def test_samples_have_the_probabilities_as_frequencies(net, images):
    model = WrappedModel(net, mean=MEAN, std=STD, divisor=2)
    samples = model.sample(images, 1500, seed=3)
    assert samples.shape == (2, 1500, 13, 17)
    shares = F.one_hot(samples[:, :, 5, 6].long(), 3).float().mean(1)
    assert torch.allclose(shares, model(images)[:, :, 5, 6], atol=0.05)
    assert torch.equal(model.sample(images, 4, seed=3), samples[:, :4])


def test_the_model_given_is_left_as_it_was(net):
    WrappedModel(net).train()
    assert not net.training
    assert all(p.requires_grad for p in net.parameters())


def test_onnx_files(net, images, tmp_path):
    for needed in ('onnx', 'onnxruntime'):
        pytest.importorskip(needed)
    path = tmp_path / 'net.onnx'
    axes = dict(image={0: 'batch', 2: 'height', 3: 'width'})
    how = dict(dynamo=False, input_names=['image'], dynamic_axes=axes)
    torch.onnx.export(net, (torch.rand(1, 3, 8, 8),), str(path), **how)
    found = WrappedModel(path, mean=MEAN, std=STD, divisor=2)(images)
    expected = WrappedModel(net, mean=MEAN, std=STD, divisor=2)(images)
    assert torch.allclose(found, expected, rtol=0, atol=1e-6)
    with pytest.raises(UserError, match=r'net\.onnx.*divisor'):
        WrappedModel(path)(images[:, :1])


def test_training_mode_is_seen_later_and_in_parts(images):
    net = nn.Sequential(nn.Conv2d(3, 2, 1), nn.Dropout(0.5)).eval()
    model = WrappedModel(net)
    net[1].train()
    for call in (lambda: model(images), lambda: WrappedModel(net)):
        with pytest.raises(UserError, match='eval'):
            call()


@pytest.mark.parametrize(
    'build, named',
    [
        (lambda: WrappedModel(Halving()), 'eval'),
        (lambda: WrappedModel(3), 'int'),
        (lambda: WrappedModel('model.pth'), 'model.pth'),
        (lambda: WrappedModel('no_such:net'), 'no_such'),
        (lambda: WrappedModel('missing.onnx'), 'missing.onnx'),
        (lambda: WrappedModel(nn.Identity().eval(), std=0), 'std'),
        (lambda: WrappedModel(nn.Identity().eval(), stride=(1, 1)), 'stride'),
        (lambda: WrappedModel(nn.Identity().eval(), size=(0, 3)), 'size'),
        (lambda: WrappedModel(nn.Identity().eval(), mean='a'), 'mean'),
        (lambda: WrappedModel(nn.Identity().eval(), classes='ab'), 'classes'),
        (lambda: WrappedModel(nn.Conv2d), 'type'),
    ],
)
def test_what_is_no_model_is_refused(build, named):
    with pytest.raises(UserError, match=named):
        build()


@pytest.mark.parametrize(
    'net, settings, named',
    [
        (lambda x: x[:, 0], {}, 'expected'),
        (lambda x: x[..., None], {}, 'volumes'),
        (lambda x: x.transpose(2, 3), {}, '13x17'),
        (lambda x: x / 0, {}, 'NaN'),
        (lambda x: x[:, :1], {}, 'sigmoid'),
        (lambda x: x, dict(output='sigmoid'), 'sigmoid'),
        (lambda x: x.softmax(1), {}, "output='logits'"),
        (lambda x: x, dict(output='probs'), "output='probs'"),
        (lambda x: dict(scores=x), {}, 'scores'),
        (lambda x: x, dict(mean=[1.0, 2.0]), 'mean'),
        (lambda x: x, dict(std=[1.0, 2.0]), 'std'),
        (lambda x: torch.cat((x, x[:, :, 1:]), 1), {}, 'divisor'),
    ],
)
def test_what_gives_no_scores_is_refused(net, settings, named, images):
    with pytest.raises(UserError, match=named):
        WrappedModel(net, **settings)(images)


@pytest.mark.parametrize(
    'images, named',
    [
        (torch.rand(3, 8, 8), '3, 8, 8'),
        (torch.rand(1, 64, 64, 3), '1, 64, 64, 3'),
        (torch.full((1, 3, 8, 8), torch.nan), 'NaN'),
        ('image.png', 'str'),
        (np.full((1, 8, 8, 3), 'a'), '<U1'),
        (torch.rand(1, 3, 8, 8) + 0j, 'complex'),
        (torch.rand(0, 3, 8, 8), '0, 3, 8, 8'),
    ],
)
def test_what_is_no_image_is_refused(net, images, named):
    with pytest.raises(UserError, match=named):
        WrappedModel(net)(images)
