"""The folded decoder computes what the plain one does."""

import pytest
import torch
from torch import nn

from mmcar.models import LatentUNet, RefinementUNet
from mmcar.sampling.kernels import folded_decoder


def _generator(cls=RefinementUNet, **kwargs):
    torch.manual_seed(0)
    generator = cls(
        num_classes=3, base_channels=4, depth=3, noise_size=4, **kwargs
    )
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
        monkeypatch.setattr(folded_decoder, 'MIN_FEATURES', smallest)
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
    ('change', 'size', 'kwargs'),
    [
        (lambda g: g.train(), (16, 16), {}),
        (lambda g: g, (17, 16), {}),
        (lambda g: g, (16, 16), {'upsample': 'resize'}),
        (lambda g: g, (16, 16), {'norm_cfg': {'type': 'GN', 'num_groups': 2}}),
    ],
    ids=['training', 'odd size', 'resize', 'group norm'],
)
def test_what_does_not_fold(change, size, kwargs, monkeypatch):
    monkeypatch.setattr(folded_decoder, 'MIN_FEATURES', 0)
    generator = _generator(**kwargs)
    change(generator)
    image, log_probs, _ = _inputs(generator, size)
    with torch.no_grad():
        assert generator.encode(image, log_probs).folded is None


def test_folded_features_pass_gradients_to_the_weights(monkeypatch):
    monkeypatch.setattr(folded_decoder, 'MIN_FEATURES', 0)
    generator = _generator()
    image, log_probs, z = _inputs(generator)
    with torch.no_grad():
        features = generator.encode(image, log_probs)
    assert features.folded is not None
    generator.decode(features, z).square().sum().backward()
    assert generator.up[1].conv.weight.grad.abs().sum() > 0
