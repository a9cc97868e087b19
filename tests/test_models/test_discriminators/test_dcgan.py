import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS

from mmcar.models import DCGANDiscriminator, PatchDiscriminator


@pytest.fixture(params=[DCGANDiscriminator, PatchDiscriminator])
def judge(request):
    torch.manual_seed(0)
    return MODELS.build(
        {
            'type': request.param.__name__,
            'num_classes': 4,
            'base_channels': 6,
            'depth': 3,
        }
    )


def _inputs(size=(37, 53), batch=2):
    torch.manual_seed(1)
    image = torch.randn(batch, 3, *size)
    labels = torch.randint(4, (batch, *size))
    return image, F.one_hot(labels, 4).permute(0, 3, 1, 2).float()


@pytest.mark.parametrize('size', [(8, 8), (37, 53)])
def test_shapes(judge, size):
    logits = judge(*_inputs(size))
    if isinstance(judge, DCGANDiscriminator):
        assert logits.shape == (2,)
    else:
        assert logits.shape == (2, size[0] // 8, size[1] // 8)
    assert logits.dtype == torch.float32


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


def test_channels_last_is_the_same(judge):
    image, real = _inputs()
    logits = judge(image, real)
    last = torch.channels_last
    again = judge.to(memory_format=last)(
        image.contiguous(memory_format=last),
        real.contiguous(memory_format=last),
    )
    assert torch.allclose(logits, again, atol=1e-5)


def test_gradient_penalty_can_be_differentiated(judge):
    image, real = _inputs((32, 40))
    real.requires_grad_()
    logits = judge(image, real)
    (gradient,) = torch.autograd.grad(logits.sum(), real, create_graph=True)
    gradient.square().sum().backward()
    assert judge.conv_label.weight.grad.abs().max() > 0
    assert judge.logit.weight.grad.abs().max() > 0


def test_dcgan_at_its_own_size():
    """At 64x64 the last features are 4x4 already: nothing is averaged."""
    judge = DCGANDiscriminator(2, base_channels=4)
    image, real = torch.randn(1, 3, 64, 64), torch.rand(1, 2, 64, 64)
    weight = torch.cat((judge.conv_image.weight, judge.conv_label.weight), 1)
    x = F.conv2d(
        torch.cat((image, real), 1), weight, judge.conv_image.bias, 2, 1
    )
    x = F.leaky_relu(x, 0.2)
    for block in judge.blocks:
        x = F.leaky_relu(
            F.conv2d(x, block.conv.weight, block.conv.bias, 2, 1), 0.2
        )
    assert x.shape == (1, 32, 4, 4)
    wanted = F.conv2d(x, judge.logit.weight, judge.logit.bias).flatten()
    assert torch.allclose(judge(image, real), wanted, atol=1e-6)


def test_refuses_images_that_are_too_small(judge):
    with pytest.raises(ValueError, match='at least 8 per side'):
        judge(*_inputs((7, 20)))
