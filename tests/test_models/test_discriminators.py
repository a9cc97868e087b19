"""Discriminators: signals, shares and the authors' layers written out."""

import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import nn

from mmcar.models import (
    AuthorsDiscriminator,
    DCGANDiscriminator,
    PatchDiscriminator,
)

SIZE = (37, 53)


@pytest.fixture(
    params=['DCGANDiscriminator', 'PatchDiscriminator', 'AuthorsDiscriminator']
)
def judge(request):
    torch.manual_seed(0)
    own = dict(image_size=SIZE) if 'Authors' in request.param else {}
    cfg = dict(type=request.param, num_classes=4, base_channels=6, depth=3)
    return MODELS.build({**cfg, **own})


def _inputs(size=SIZE, batch=2):
    torch.manual_seed(1)
    image = torch.randn(batch, 3, *size)
    labels = torch.randint(4, (batch, *size))
    return image, F.one_hot(labels, 4).permute(0, 3, 1, 2).float()


@pytest.mark.parametrize('size', [(8, 8), SIZE])
def test_a_logit_per_map_or_patch(size):
    inputs = _inputs(size)
    assert DCGANDiscriminator(4, depth=3)(*inputs).shape == (2,)
    patches = PatchDiscriminator(4)(*inputs)
    assert patches.shape == (2, size[0] // 8, size[1] // 8)


def test_masked_pixels_carry_no_signal(judge):
    image, real = _inputs()
    mask = (torch.rand(2, 1, 37, 53) > 0.3).float()
    other = torch.where(mask > 0, real, torch.rand_like(real))
    assert not torch.equal(real, other)
    assert torch.equal(judge(image, real, mask), judge(image, other, mask))
    # ... and all others do.
    assert not torch.equal(judge(image, real), judge(image, other))
    other.requires_grad_()
    judge(image, other, mask).sum().backward()
    masked = (mask == 0).expand_as(other)
    assert (other.grad[masked] == 0).all()
    # Strided convolutions skip the last row or column of odd sizes.
    inside = ~masked[..., :36, :52]
    assert (other.grad[..., :36, :52][inside] != 0).float().mean() > 0.95


def test_samples_share_their_image(judge):
    image, real = _inputs()
    mask = (torch.rand(2, 1, 37, 53) > 0.3).float()
    maps = torch.cat((real, real.flip(0), torch.rand_like(real)))
    shared = judge(image, maps, mask)
    repeated = judge(image.repeat(3, 1, 1, 1), maps, mask.repeat(3, 1, 1, 1))
    assert len(shared) == 6
    assert torch.allclose(shared, repeated, atol=1e-6)


def test_images_are_judged_one_by_one(judge):
    image, real = _inputs(batch=3)
    alone = judge(image[1:2], real[1:2])
    assert torch.allclose(judge(image, real)[1], alone[0], atol=1e-6)
    assert not list(judge.buffers())  # no norm


def test_gradient_penalty_can_be_differentiated(judge):
    image, real = _inputs()
    logits = judge(image, real.requires_grad_()).sum()
    (gradient,) = torch.autograd.grad(logits, real, create_graph=True)
    gradient.square().sum().backward()
    for layer in (judge.conv_label, judge.logit):
        assert layer.weight.grad.abs().max() > 0


def test_dcgan_at_its_own_size():
    """At 64x64 the last features are 4x4 already: nothing is averaged."""
    judge = DCGANDiscriminator(2, base_channels=4)
    image, real = torch.randn(1, 3, 64, 64), torch.rand(1, 2, 64, 64)
    weight = torch.cat((judge.conv_image.weight, judge.conv_label.weight), 1)
    x = F.conv2d(
        torch.cat((image, real), 1), weight, judge.conv_image.bias, 2, 1
    )
    x = F.leaky_relu(x, 0.2)
    for conv in (block.conv for block in judge.blocks):
        x = F.leaky_relu(F.conv2d(x, conv.weight, conv.bias, 2, 1), 0.2)
    assert x.shape == (1, 32, 4, 4)
    wanted = F.conv2d(x, judge.logit.weight, judge.logit.bias).flatten()
    assert torch.allclose(judge(image, real), wanted, atol=1e-6)


def build(image_size=(32, 40)) -> AuthorsDiscriminator:
    torch.manual_seed(0)
    return AuthorsDiscriminator(4, base_channels=6, image_size=image_size)


def written_out(judge: AuthorsDiscriminator, image, label):
    """From the weights alone, over image and label map side by side."""
    weights = [p for name, p in judge.named_parameters() if 'blocks' in name]
    first = torch.cat((judge.conv_image.weight, judge.conv_label.weight), 1)

    def leaky(x):
        return torch.where(x > 0, x, 0.2 * x)

    def mirrored(x):
        return F.pad(x, (1, 1, 1, 1), mode='reflect')

    def conv(x, bias=True, **kwargs):
        weight = weights.pop(0)
        own = weights.pop(0) if bias else None
        return leaky(F.conv2d(x, weight, own, **kwargs))

    x = mirrored(torch.cat((image, label), 1))
    x = leaky(F.conv2d(x, first, judge.conv_image.bias))
    x = conv(mirrored(x))
    x = conv(mirrored(x))
    x = conv(mirrored(x), stride=2, padding=1)
    x = conv(x, bias=False, stride=2, padding=1)
    x = conv(x, bias=False, stride=2, padding=1)
    x = conv(x, bias=False, padding=1)
    x = conv(x, padding=1)
    assert not weights
    return x.flatten(1) @ judge.logit.weight[0] + judge.logit.bias


def test_equals_its_layers_written_out():
    judge, (image, label) = build(), _inputs((32, 40))
    for parameter in judge.parameters():
        parameter.data *= 3  # signals fade at first
    logits = judge(image, label)
    assert logits.shape == (2,)
    wanted = written_out(judge, image, label)
    assert torch.allclose(logits, wanted, atol=1e-4)
    assert (logits[0] - logits[1]).abs() > 1e-2


def test_size_of_the_published_network():
    """64 channels at 128x128: 14x14 features reach the linear layer."""
    judge = AuthorsDiscriminator(num_classes=2)
    assert judge.logit.in_features == 64 * 14 * 14
    side_by_side = nn.Conv2d(5, 64, 3)
    first = judge.conv_image, judge.conv_label
    own = sum(p.numel() for conv in first for p in conv.parameters())
    assert own == sum(p.numel() for p in side_by_side.parameters())
    # The two parts start in the range of one convolution over both.
    for conv in first:
        peak = conv.weight.abs().max()
        assert 0.95 * 45**-0.5 < peak <= 45**-0.5
