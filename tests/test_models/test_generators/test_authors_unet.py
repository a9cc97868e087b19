"""The authors' generator against its layers written out one by one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmcar.models import AuthorsUNet


def build(**kwargs) -> AuthorsUNet:
    torch.manual_seed(0)
    return AuthorsUNet(num_classes=2, base_channels=4, **kwargs)


def inputs(size=(32, 48), samples=3):
    torch.manual_seed(1)
    log_probs = torch.randn(2, 2, *size).log_softmax(1)
    return torch.randn(2, 3, *size), log_probs, torch.randn(samples, 2, 8)


def written_out(net: AuthorsUNet, image, probs, z):
    """One sample, from the weights alone; z is (B, d)."""

    def block(x, layers, conv, **kwargs):
        first, norm = layers[0], layers[1]
        x = conv(x, first.weight, first.bias, stride=2, **kwargs)
        statistics = norm.running_mean, norm.running_var
        weights = norm.weight, norm.bias
        x = F.batch_norm(x, *statistics, *weights, training=net.training)
        return torch.where(x > 0, x, 0.2 * x)

    def inject(x, part):
        shift = z @ part.shift.weight.T + part.shift.bias
        scale = z @ part.scale.weight.T + part.scale.bias
        x = (x + shift[:, :, None, None]) * scale[:, :, None, None]
        x = torch.einsum('oc,bchw->bohw', part.conv.weight[..., 0, 0], x)
        return x + part.conv.bias[:, None, None]

    down = [torch.cat((image, probs), 1)]
    for layers in net.down:
        down.append(block(down[-1], layers, F.conv2d, padding=1))
    up = F.conv_transpose2d
    x = block(down[4], net.up[0], up)
    x = block(torch.cat((x, down[3]), 1), net.up[1], up)
    x = F.leaky_relu(inject(x, net.noise[0]))
    x = block(torch.cat((x, down[2]), 1), net.up[2], up)
    x = F.leaky_relu(inject(x, net.noise[1]))
    x = block(torch.cat((x, down[1]), 1), net.up[3], up)
    return inject(x, net.noise[2]).softmax(1)


@pytest.mark.parametrize('training', [False, True])
def test_equals_its_layers_written_out(training):
    """Also in training, where batch norm sees one sample at a time."""
    net = build(dropout=0.0).train(training)
    image, log_probs, z = inputs()
    with torch.no_grad():
        samples = net(image, log_probs, z)
        for sample, one in zip(samples, z, strict=True):
            wanted = written_out(net, image, log_probs.exp(), one)
            assert torch.allclose(sample, wanted, atol=1e-5)


def test_size_of_the_published_network():
    net = AuthorsUNet(num_classes=2)
    total = sum(p.numel() for p in net.parameters())
    assert round(total / 1e6, 2) == 0.62


def test_noise_enters_at_three_places_and_matters():
    net = build().eval()
    linear = [m for m in net.modules() if isinstance(m, nn.Linear)]
    assert len(linear) == 6
    assert not net.independent_samples  # statistics of its norms
    image, log_probs, z = inputs()
    samples = net(image, log_probs, z)
    assert (samples[0] - samples[1]).abs().max() > 1e-3
    samples[:, :, 0].sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
    for layer in linear:
        assert layer.weight.grad.abs().max() > 0


@pytest.mark.parametrize('size', [(16, 16), (37, 53), (5, 9)])
def test_any_size(size):
    net = build().eval()
    image, log_probs, z = inputs(size)
    probs = net(image, log_probs, z)
    assert probs.shape == (3, 2, 2, *size)
    assert torch.allclose(probs.sum(2), torch.ones(3, 2, *size), atol=1e-5)
