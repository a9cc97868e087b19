import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS

from mmcar.models import MMSegCalibration
from tests.toys import toy_parts

RESNET = dict(type='ResNetV1c', depth=18, base_channels=8, num_stages=2)
STAGES = dict(out_indices=(0, 1), strides=(1, 2), dilations=(1, 1))
BACKBONE = RESNET | STAGES
HEAD = dict(
    type='FCNHead', in_channels=16, in_index=1, channels=8, num_convs=1
)
NETS = {
    'SegNetCalibration': {'base_channels': 4, 'stage_convs': (1, 2, 1)},
    'ConvCalibration': {'channels': 8},
    'MMSegCalibration': {'backbone': BACKBONE, 'decode_head': HEAD},
}


def _build(name, black_box_classes=0, **kwargs):
    torch.manual_seed(0)
    cfg = {'type': name, 'num_classes': 4, **NETS[name], **kwargs}
    cfg['black_box_classes'] = black_box_classes
    if name == 'MMSegCalibration':
        channels = 3 + black_box_classes
        cfg['backbone'] = {**BACKBONE, 'in_channels': channels}
    return MODELS.build(cfg)


@pytest.mark.parametrize('name', NETS)
@pytest.mark.parametrize(('classes', 'size'), [(0, (3, 1)), (5, (37, 53))])
def test_logits_at_image_size(name, classes, size):
    net = _build(name, classes)
    image = torch.randn(2, 3, *size, requires_grad=True)
    probs = None
    if classes:
        probs = torch.rand(2, classes, *size, requires_grad=True)
    logits = net(image, probs, None)
    assert logits.shape == (2, 4, *size)
    assert net.num_classes == 4
    logits[:, 0].square().sum().backward()
    assert image.grad.abs().sum() > 0
    if classes:  # F uses what the black box says
        assert probs.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ('size', 'stride'), [((1, 1), 1), ((7, 18), 2), ((16, 16), 1)]
)
def test_unet_takes_any_size(size, stride):
    """MMSeg's UNet asserts multiples of its stride; F pads by itself."""
    parts = toy_parts()
    parts['backbone']['strides'] = (stride, 1)
    net = MMSegCalibration(4, **parts).eval()
    assert net.divisor == 2 * stride
    image = torch.randn(2, 3, *size)
    logits = net(image)
    assert logits.shape == (2, 4, *size)
    rows, columns = (-side % net.divisor for side in size)
    wide = F.pad(image, (0, columns, 0, rows), mode='replicate')
    expected = net(wide)[..., : size[0], : size[1]]
    assert torch.allclose(logits, expected, atol=1e-6)


@pytest.mark.parametrize(('expected', 'given'), [(0, 5), (6, 5), (5, None)])
def test_refuses_another_black_box(expected, given):
    image, probs = torch.randn(1, 3, 8, 8), given and torch.rand(1, 5, 8, 8)
    with pytest.raises(ValueError, match=f'black_box_classes={expected}'):
        _build('ConvCalibration', expected)(image, probs)


def test_segnet_unpools_where_it_pooled():
    """With identity-like stages, maxima return to their own pixels."""
    net = _build('SegNetCalibration', stage_convs=(1,), dropout=0.0).eval()
    image = torch.randn(1, 3, 7, 9)
    stage = {}
    net.down[0].register_forward_hook(lambda m, i, o: stage.update(down=o))
    net.up[0].register_forward_hook(lambda m, i, o: stage.update(up=i[0]))
    net(image)
    kept = stage['up'] != 0
    assert torch.equal(stage['up'][kept], stage['down'][kept])
    assert kept[0, 0].sum() == 4 * 5


@pytest.mark.parametrize(
    ('name', 'kwargs', 'message'),
    [
        ('ConvCalibration', {'symmetric': 'vertical'}, 'symmetric'),
        ('MMSegCalibration', {'decode_head': {**HEAD, 'num_classes': 7}}, '7'),
    ],
)
def test_refuses(name, kwargs, message):
    with pytest.raises(ValueError, match=message):
        _build(name, **kwargs)


@pytest.mark.parametrize(
    ('symmetric', 'size', 'quarters'),
    [
        (True, (8, 8), range(4)),
        (True, (8, 12), (0, 2)),
        ('horizontal', (8, 8), (0,)),
    ],
)
def test_symmetric_nets_average_all_views_outside_training(
    symmetric, size, quarters
):
    net = _build('ConvCalibration', symmetric=symmetric, dropout=0.0).eval()
    image = torch.randn(2, 3, *size)
    probs = net(image).exp()
    expected = torch.zeros_like(probs)
    for turns in quarters:
        for mirror in ((), (3,)):
            view = image.rot90(turns, (2, 3)).flip(mirror)
            out = net.predict_logits(view).softmax(1).flip(mirror)
            expected += out.rot90(-turns, (2, 3)) / (2 * len(quarters))
    assert torch.allclose(probs, expected, atol=1e-5)
    # Equivariant: that is what it is for.
    mirrored = net(image.flip(3)).exp().flip(3)
    assert torch.allclose(mirrored, probs, atol=1e-5)
    net.train()
    logits = net(image)
    # Not to the last digit: the net sees the image in another layout.
    assert torch.allclose(logits, net.predict_logits(image), atol=1e-5)


@pytest.mark.parametrize(
    ('name', 'symmetric'), zip(NETS, (False, True, False), strict=True)
)
def test_a_residual_net_starts_as_the_black_box(name, symmetric):
    net = _build(name, 4, residual=True, symmetric=symmetric)
    net.init_weights()  # MMSeg's heads draw their last layer here
    net.eval()
    image = torch.randn(2, 3, 32, 32)
    probs = torch.randn(2, 4, 32, 32).softmax(1)
    found = net(image, probs).softmax(1)
    torch.testing.assert_close(found, probs)
    net.last_layer.weight.data.normal_()
    assert not torch.allclose(net(image, probs).softmax(1), probs, atol=0.01)


def test_classes_that_share_a_source_share_its_probability():
    net = _build('ConvCalibration', 3, residual=True, class_map=[0, 1, 2, 1])
    probs = torch.randn(1, 3, 8, 8).softmax(1)
    found = net.eval()(torch.randn(1, 3, 8, 8), probs).softmax(1)
    share = torch.tensor([1, 0.5, 1, 0.5]).view(4, 1, 1)
    expected = probs[:, [0, 1, 2, 1]] * share
    torch.testing.assert_close(found, expected)


def test_a_rounded_zero_of_the_black_box_can_be_corrected():
    net = _build('ConvCalibration', 4, residual=True).eval()
    probs = torch.zeros(1, 4, 8, 8)
    probs[:, 0] = 1
    assert net(torch.randn(1, 3, 8, 8), probs).min() > -14


def test_trained_weights_are_not_reset(tmp_path):
    trained = _build('ConvCalibration', 4, residual=True)
    trained.last_layer.weight.data.normal_()
    torch.save(dict(state_dict=trained.state_dict()), tmp_path / 'f.pth')
    init = dict(type='Pretrained', checkpoint=str(tmp_path / 'f.pth'))
    net = _build('ConvCalibration', 4, residual=True, init_cfg=init)
    net.init_weights()
    assert torch.equal(net.last_layer.weight, trained.last_layer.weight)
    net.init_weights()  # a second call must not do it either
    assert torch.equal(net.last_layer.weight, trained.last_layer.weight)


@pytest.mark.parametrize(
    ('classes', 'kwargs', 'message'),
    [
        (5, dict(residual=True), 'class_map=None'),
        (0, dict(residual=True), 'class_map=None'),
        (4, dict(class_map=[0, 1, 2, 3]), 'class_map'),
        (3, dict(residual=True, class_map=[0, 1, 2]), 'class_map'),
        (3, dict(residual=True, class_map=[0, 1, 2, 3]), 'class_map'),
    ],
)
def test_refuses_a_start_that_is_not_known(classes, kwargs, message):
    with pytest.raises(ValueError, match=message):
        _build('ConvCalibration', classes, **kwargs)
