"""The exported graph draws the samples that PyTorch draws."""

import pytest
import torch

from mmcar.inference.onnx_export import agreement, export_onnx, log_ndtr
from mmcar.utils.errors import UserError
from tests.test_models.test_segmentors.test_car_segmentor import with_black_box
from tests.toys import toy_batch, toy_config, toy_model, toy_parts

HEAD = toy_config()['decode_head']
RECIPE = dict(
    HEAD['generator'],
    gumbel=dict(),
    norm_cfg=None,
    film='residual',
    upsample='resize',
    temperature=0.05,
)
GROUPS = dict(correlation_length=4.0, floor=0.05, groups=((0, 3), (1, 4)))
GENERATORS = dict(
    gumbel=(dict(type='GumbelSampler'), 1.0),
    field=(dict(type='GumbelSampler', correlation_length=4.0), 0.999),
    groups=(dict(GROUPS, type='GumbelSampler'), 0.999),
    unet=(HEAD['generator'], 0.999),
    recipe=(RECIPE, 0.999),
)


def test_log_ndtr():
    x = torch.linspace(-12, 12, 4001)
    expected = torch.special.log_ndtr(x.double())
    found = log_ndtr(x).double()
    assert ((found - expected) / expected).abs().max() < 2e-5


def exported(model, folder, size):
    """What was traced, and a session of the file."""
    pytest.importorskip('onnx', reason='needs requirements/deploy.txt')
    runtime = pytest.importorskip(
        'onnxruntime', reason='needs requirements/deploy.txt'
    )
    sampler = export_onnx(model, folder / 'model.onnx', size)
    torch.manual_seed(0)
    return sampler, runtime.InferenceSession(str(folder / 'model.onnx'))


def numbers(model, images, samples, size):
    """Random pixels and noise."""
    noise = torch.randn(samples, images, *model.noise_shape(size))
    return torch.rand(images, 3, *size) * 255, noise


@pytest.mark.parametrize('name', GENERATORS)
def test_same_labels_for_any_batch_and_size(name, tmp_path):
    generator, required = GENERATORS[name]
    head = {**HEAD, 'generator': generator}
    if 'groups' in generator:
        head['num_classes'] = 5
    model = toy_model(decode_head=head, discriminator=None)
    if name == 'recipe':  # zero at first: let it add something
        model.decode_head.generator.logits.weight.data.normal_()
    sampler, session = exported(model, tmp_path, (32, 48))
    for images, samples, size in ((1, 5, (32, 48)), (3, 2, (45, 37))):
        image, noise = numbers(model, images, samples, size)
        assert agreement(sampler, session, image, noise) >= required
        # The noise is heard: other noise draws other maps.
        labels, _ = sampler(image, noise)
        assert len(labels.unique()) > 1
        assert not torch.equal(labels, sampler(image, -noise)[0])


UNET_F = dict(type='MMSegCalibration', **toy_parts())


@pytest.mark.parametrize('name', ['gumbel', 'recipe'])
def test_a_unet_of_mmseg_keeps_its_size_free(name, tmp_path):
    """Its Upsample writes the traced size into the graph, if it may."""
    generator, required = GENERATORS[name]
    head = {**HEAD, 'calibration': UNET_F, 'generator': generator}
    model = toy_model(decode_head=head, discriminator=None)
    # MMSeg starts the last layer near zero: no class would ever change.
    model.decode_head.calibration.decode_head.conv_seg.weight.data.normal_()
    sampler, session = exported(model, tmp_path, (32, 48))
    for images, size in ((2, (32, 48)), (1, (64, 16)), (3, (41, 80))):
        image, noise = numbers(model, images, 4, size)
        assert agreement(sampler, session, image, noise) >= required
        with torch.no_grad():
            labels, _ = sampler(image, noise)
            state = model.encode((image - 127.5) / 127.5)
            own = model.sample_labels(state, noise)
        assert len(labels.unique()) > 1
        assert torch.equal(labels, own.long()), 'what the model itself draws'


def test_a_graph_pads_as_testing_does(tmp_path):
    """And B sees its own padding only, as in testing."""
    cfg = toy_config()['data_preprocessor']
    own = dict(cfg, pad_val=3, test_cfg=dict(size_divisor=4))
    outer = dict(cfg, test_cfg=dict(size_divisor=16))
    head = with_black_box()
    head['black_box'] = head['black_box'] | dict(data_preprocessor=own)
    model = toy_model(
        decode_head=head, discriminator=None, data_preprocessor=outer
    ).eval()
    _, session = exported(model, tmp_path, (16, 16))
    for size in ((16, 16), (29, 22)):
        batch = toy_batch(size=size)
        image = torch.stack(batch['inputs']).float()
        noise = torch.randn(3, 2, *model.noise_shape(size))
        feeds = dict(image=image.numpy(), noise=noise.numpy())
        labels, log_probs = session.run(None, feeds)
        assert labels.shape == (3, 2, *size)
        tested = torch.stack(
            [s.seg_logits.data for s in model.test_step(batch)]
        )
        found = torch.from_numpy(log_probs)
        torch.testing.assert_close(found, tested, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    'sizes', [((32, 32), (48, 48)), ((32, 48), (64, 16))], ids=str
)
def test_a_net_that_averages_views(sizes, tmp_path):
    """As in the quickstart: a tuned sampler with a floor."""
    net = {**UNET_F, 'symmetric': True}
    tuned = dict(type='TunedSampler', net=net, floor=0.05)
    head = {**HEAD, 'calibration': net, 'generator': tuned}
    model = toy_model(decode_head=head, discriminator=None)
    for part in (model.decode_head.calibration, model.decode_head.generator):
        for name, weight in part.named_parameters():
            if 'conv_seg.weight' in name:
                weight.data.normal_()
    sampler, session = exported(model, tmp_path, sizes[0])
    for size in sizes:
        both = numbers(model, 2, 4, size)
        assert agreement(sampler, session, *both) >= 0.999


def test_a_layer_without_an_operator_is_named(tmp_path, capsys):
    pytest.importorskip('onnx', reason='needs requirements/deploy.txt')
    model = toy_model(discriminator=None)
    net = model.decode_head.calibration
    usual = net.predict_logits
    net.predict_logits = lambda x: usual(x).rot90(4, (2, 3))
    with pytest.raises(UserError, match='aten::rot90'):
        export_onnx(model, tmp_path / 'model.onnx', (16, 16))
    assert 'graph' not in capsys.readouterr().out


def test_refuses_what_a_trace_would_freeze(tmp_path):
    windows = dict(mode='slide', crop_size=(8, 8), stride=(8, 8))
    refused = {"mode='slide'": dict(test_cfg=windows)}
    for kind in ('RegionSampler', 'IndependentPixelSampler'):
        head = HEAD | dict(generator=dict(type=kind))
        refused[kind] = dict(decode_head=head)
    for words, changes in refused.items():
        with pytest.raises(UserError, match=words):
            export_onnx(toy_model(**changes), tmp_path / 'x.onnx', (16, 16))
    assert not (tmp_path / 'x.onnx').exists()
