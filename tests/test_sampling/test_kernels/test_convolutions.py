"""Channels last, and the folded decoder: the numbers of the plain ones."""

import pytest
import torch
from torch import nn

from mmcar.models import LatentUNet, RefinementUNet
from mmcar.sampling.kernels import convolutions
from mmcar.sampling.kernels.convolutions import fast_layout, lay_out_weights
from tests.toys import toy_batch, toy_model, toy_optims


def test_values_do_not_change():
    maps = torch.randn(2, 3, 4, 5)
    fast = fast_layout(maps)
    assert fast.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(fast, maps)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    held = list(net.parameters())
    lay_out_weights(net)
    assert all(a is b for a, b in zip(held, net.parameters(), strict=True))
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)
    for key, value in net.state_dict().items():
        assert torch.equal(value, before[key])


def test_other_devices_keep_their_order():
    maps = torch.empty(2, 3, 4, 5, device='meta')
    assert fast_layout(maps) is maps


@pytest.mark.parametrize('name', ['calibration', 'generator', 'discriminator'])
def test_networks_train_with_channels_last(name):
    model = toy_model()
    seen, last = [], torch.channels_last
    for module in model.networks()[name].modules():
        if isinstance(module, nn.Conv2d) and module.kernel_size != (1, 1):
            module.register_forward_pre_hook(lambda *args: seen.append(args))
    model.train_step(toy_batch(), {name: toy_optims(model)[name]})
    assert seen
    for module, (x,) in seen:
        assert module.weight.is_contiguous(memory_format=last), module
        if len(x) > 1:  # a bias goes through a convolution by itself
            assert x.is_contiguous(memory_format=last) or x.shape[1] == 1


def _generator(cls=RefinementUNet, **kwargs):
    torch.manual_seed(0)
    small = dict(num_classes=3, base_channels=4, depth=3, noise_size=4)
    generator = cls(**small, **kwargs)
    for module in generator.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.normal_(module.weight)
            nn.init.normal_(module.bias)
    nn.init.normal_(generator.logits.weight)
    return generator.eval()


def _inputs(generator, size=(16, 24)):
    torch.manual_seed(1)
    log_probs = torch.randn(2, 3, *size).log_softmax(1)
    z = torch.randn(3, 2, generator.noise_size)
    return torch.randn(2, 3, *size), log_probs, z


@torch.no_grad()
def _both(generator, inputs, monkeypatch):
    """Logits of the folded and of the plain decoder."""
    image, log_probs, z = inputs
    results = []
    for smallest in (0, 1e9):
        monkeypatch.setattr(convolutions, 'MIN_FEATURES', smallest)
        features = generator.encode(image, log_probs)
        assert (features.folded is None) == (smallest > 0)
        results.append(generator.decode(features, z))
    return results


@pytest.mark.parametrize(
    ('cls', 'norm_cfg', 'film', 'size'),
    [  # every pair of settings
        (RefinementUNet, None, 'affine', (16, 24)),
        (RefinementUNet, {'type': 'BN'}, 'residual', (8, 8)),
        (LatentUNet, {'type': 'BN'}, 'affine', (16, 24)),
        (LatentUNet, None, 'residual', (8, 8)),
        (RefinementUNet, {'type': 'BN'}, 'affine', (8, 8)),
    ],
)
def test_folded_is_plain(cls, norm_cfg, film, size, monkeypatch):
    generator = _generator(cls, norm_cfg=norm_cfg, film=film, gumbel={})
    folded, plain = _both(generator, _inputs(generator, size), monkeypatch)
    torch.testing.assert_close(folded, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ('training', 'side', 'kwargs'),
    [
        (True, 16, {}),
        (False, 17, {}),
        (False, 16, {'upsample': 'resize'}),
        (False, 16, {'norm_cfg': {'type': 'GN', 'num_groups': 2}}),
    ],
)
def test_what_does_not_fold(training, side, kwargs, monkeypatch):
    monkeypatch.setattr(convolutions, 'MIN_FEATURES', 0)
    generator = _generator(**kwargs).train(training)
    image, log_probs, _ = _inputs(generator, (side, 16))
    with torch.no_grad():
        assert generator.encode(image, log_probs).folded is None


def test_folded_features_pass_gradients_to_the_weights(monkeypatch):
    monkeypatch.setattr(convolutions, 'MIN_FEATURES', 0)
    generator = _generator()
    image, log_probs, z = _inputs(generator)
    with torch.no_grad():
        features = generator.encode(image, log_probs)
    assert features.folded is not None
    generator.decode(features, z).square().sum().backward()
    assert generator.up[1].conv.weight.grad.abs().sum() > 0
