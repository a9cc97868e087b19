"""The authors' discriminator against its layers written out one by one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmcar.models import AuthorsDiscriminator


def build(image_size=(32, 40), **kwargs) -> AuthorsDiscriminator:
    torch.manual_seed(0)
    return AuthorsDiscriminator(
        num_classes=4, base_channels=6, image_size=image_size, **kwargs
    )


def inputs(size=(32, 40), maps=2):
    torch.manual_seed(1)
    return torch.randn(2, 3, *size), torch.rand(maps, 4, *size)


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
    judge, (image, label) = build(), inputs()
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


def test_samples_share_their_image_and_masks_hide():
    judge = build()
    image, maps = inputs(maps=6)
    mask = (torch.rand(2, 1, 32, 40) > 0.3).float()
    shared = judge(image, maps, mask)
    repeated = judge(image.repeat(3, 1, 1, 1), maps, mask.repeat(3, 1, 1, 1))
    assert torch.allclose(shared, repeated, atol=1e-6)
    hidden = (mask == 0).repeat(3, 1, 1, 1)
    other = torch.where(hidden, torch.rand_like(maps), maps)
    assert torch.equal(judge(image, other, mask), shared)
    assert not torch.equal(judge(image, other), judge(image, maps))


def test_gradient_penalty_can_be_differentiated():
    judge, (image, label) = build(), inputs()
    label.requires_grad_()
    logits = judge(image, label).sum()
    (gradient,) = torch.autograd.grad(logits, label, create_graph=True)
    gradient.square().sum().backward()
    assert judge.conv_label.weight.grad.abs().max() > 0
    assert judge.logit.weight.grad.abs().max() > 0


def test_one_size_only():
    with pytest.raises(ValueError, match=r'image_size=\(32, 40\).*another'):
        build()(*inputs((64, 64)))
    with pytest.raises(ValueError, match='too small'):
        build(image_size=(8, 8))
