import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import nn

from mmcar.models import LatentUNet
from mmcar.models.generators.unet_blocks import UpBlock
from mmcar.models.losses import ELBOLoss, SampleBatch

VARIANTS = {
    'paper': {},
    'plain': {'norm_cfg': None, 'dropout': 0.0},
    'recipe': {'film': 'residual', 'upsample': 'resize', 'residual': True},
    'gumbel': {'gumbel': {}, 'temperature': 0.1},
    'field': {'gumbel': {'correlation_length': 5.0, 'num_features': 4}},
    'gn': {'norm_cfg': {'type': 'GN', 'num_groups': 2}},
}


def _build(name='RefinementUNet', **kwargs):
    torch.manual_seed(0)
    cfg = {'type': name, 'num_classes': 3, 'base_channels': 4, **kwargs}
    return MODELS.build(cfg)


def _inputs(generator, size=(16, 16), samples=3, batch=2):
    torch.manual_seed(1)
    image = torch.randn(batch, 3, *size)
    log_probs = torch.randn(batch, 3, *size).log_softmax(1)
    return image, log_probs, torch.randn(samples, batch, generator.noise_size)


@pytest.mark.parametrize(
    ('name', 'variant', 'size'),
    [  # odd, even and tiny, with both kinds of up blocks
        ('RefinementUNet', 'paper', (37, 53)),
        ('RefinementUNet', 'recipe', (5, 3)),
        ('LatentUNet', 'recipe', (16, 48)),
        ('LatentUNet', 'gn', (1, 1)),
    ],
)
def test_any_size_gives_probabilities(name, variant, size):
    generator = _build(name, **VARIANTS[variant]).eval()
    probs = generator(*_inputs(generator, size))
    assert probs.shape == (3, 2, 3, *size)
    assert torch.allclose(probs.sum(2), torch.ones(3, 2, *size), atol=1e-5)
    assert probs.dtype == torch.float32


@pytest.mark.parametrize('variant', VARIANTS)
def test_pure_and_independent_of_batch_and_samples(variant):
    generator = _build(**VARIANTS[variant]).eval()
    image, log_probs, z = _inputs(generator, samples=4, batch=3)
    probs = generator(image, log_probs, z)
    assert torch.equal(probs, generator(image, log_probs, z))
    one = generator(image[1:2], log_probs[1:2], z[2:3, 1:2])
    assert torch.allclose(probs[2, 1], one[0, 0], atol=1e-5)


def test_encoder_runs_once_per_image():
    generator = _build()
    calls = []
    for block in [*generator.down, *(up.conv_skip for up in generator.up)]:
        block.register_forward_hook(lambda m, i, o: calls.append(len(o)))
    generator(*_inputs(generator, samples=6))
    assert calls == [2] * 8


def test_noise_enters_every_up_block_and_nothing_else():
    generator = _build(norm_cfg=None, dropout=0.0)
    inputs = _inputs(generator)
    for block in generator.up:
        nn.init.zeros_(block.film.weight)
    still = generator(*inputs)
    assert torch.allclose(still, still[:1].expand_as(still), atol=1e-6)
    for block in generator.up:
        nn.init.normal_(block.film.weight)
        moved = generator(*inputs)
        assert (moved - moved[:1]).abs().max() > 1e-3
        nn.init.zeros_(block.film.weight)


@pytest.mark.parametrize('film', ['affine', 'residual'])
@pytest.mark.parametrize('upsample', ['deconv', 'resize'])
def test_up_block_by_hand(film, upsample):
    """A plain U-Net block on repeated features, then scale and shift."""
    torch.manual_seed(0)
    block = UpBlock(6, 5, 4, 3, None, 0.0, film, upsample)
    x, skip = torch.randn(2 * 2, 6, 3, 4), torch.randn(2, 5, 5, 7)
    z = torch.randn(2, 2, 3)
    out = block.modulate(block.merge(x, block.conv_skip(skip)), z)

    up = block.up(x)
    if upsample == 'resize':
        up = F.interpolate(up, (5, 7), mode='bilinear')
    both = torch.cat((up[..., :5, :7], skip.repeat(2, 1, 1, 1)), dim=1)
    weight = torch.cat((block.conv.weight, block.conv_skip.weight), dim=1)
    y = F.conv2d(both, weight, block.conv_skip.bias, padding=1)
    noise = z.reshape(4, 3)
    scale = noise @ block.film.weight[:4].T + block.film.bias[:4]
    shift = noise @ block.film.weight[4:].T + block.film.bias[4:]
    if film == 'residual':
        scale = 1 + scale
    y = y * scale[..., None, None] + shift[..., None, None]
    assert torch.allclose(out, torch.where(y > 0, y, 0.2 * y), atol=1e-5)


@pytest.mark.parametrize('name', ['RefinementUNet', 'LatentUNet'])
def test_residual_starts_at_f(name):
    generator = _build(name, residual=True)
    generator.init_weights()
    inputs = _inputs(generator)
    probs = generator(*inputs)
    wanted = inputs[1].exp().expand_as(probs)
    assert torch.allclose(probs, wanted, atol=1e-6)
    probs[:, :, 0].sum().backward()
    assert generator.logits.weight.grad.abs().max() > 0


@pytest.mark.parametrize(
    'base', [{}, dict(correlation_length=3.0, floor=0.1, groups=((0, 2),))]
)
def test_gumbel_base_starts_as_the_gumbel_sampler(base):
    generator = _build(gumbel=base, temperature=0.3)
    sampler = MODELS.build(
        {'type': 'GumbelSampler', 'num_classes': 3, 'temperature': 0.3, **base}
    )
    assert generator.noise_size == sampler.noise_size + 8
    image, log_probs, z = _inputs(generator)
    probs = generator(image, log_probs, z)
    own = sampler(image, log_probs, z[..., : sampler.noise_size])
    assert torch.allclose(probs, own, atol=1e-5)
    assert torch.equal(probs.argmax(2), own.argmax(2))


@pytest.mark.parametrize(
    ('name', 'variant'),
    zip(['RefinementUNet', 'LatentUNet'] * 3, VARIANTS, strict=True),
)
def test_variants_reach_every_parameter(name, variant):
    generator = _build(name, **VARIANTS[variant])
    nn.init.normal_(generator.logits.weight)
    probs = generator(*_inputs(generator))
    probs[:, :, 0].square().sum().backward()
    assert all(p.grad is not None for p in generator.parameters())


@pytest.mark.parametrize('size', [(1, 1), (1, 3), (4, 5)])
def test_one_kernel_does_what_two_do(size):
    """In training, of a transposed convolution and the one behind it."""
    torch.manual_seed(0)
    block = UpBlock(6, 3, 4, 8, {'type': 'BN'}, 0.0, 'affine', 'deconv')
    block = block.double().train()
    nn.init.normal_(block.up.bias)
    x = torch.randn(6, 6, *size, dtype=torch.double, requires_grad=True)
    doubled = [2 * side for side in size]
    skip = torch.randn(3, 4, *doubled, dtype=torch.double, requires_grad=True)
    inputs = (x, skip, *block.parameters())
    both = block.conv(block.up(x)).unflatten(0, (2, 3)) + skip
    norm = F.batch_norm(
        both.flatten(0, 1),
        *(None, None, block.norm.weight, block.norm.bias, True),
    ).unflatten(0, (2, 3))
    merged = block.merge(x, skip)
    assert torch.allclose(merged, norm, atol=1e-12)
    push = torch.randn_like(merged)
    ours, other = (
        torch.autograd.grad(value, inputs, push, materialize_grads=True)
        for value in (merged, norm)
    )
    for one, two in zip(ours, other, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-10)
    assert sum(bool(one.any()) for one in ours) == 7


def test_latent_code_takes_the_place_of_noise():
    generator = _build('LatentUNet').eval()
    image, log_probs, z = _inputs(generator)
    output = generator(image, log_probs, z)
    mean, logvar = generator.encode(image, log_probs).posterior
    assert mean.shape == logvar.shape == (2, 8)
    assert not torch.allclose(mean[0], mean[1])
    plain = _build().eval()
    plain.load_state_dict(generator.state_dict(), strict=False)
    code = mean + (logvar / 2).exp() * z
    wanted = plain(image, log_probs, code)
    assert torch.allclose(output, wanted, atol=1e-5)
    assert plain.posterior(plain.encode(image, log_probs)) is None
    output[0, 0, 0].sum().backward()
    assert generator.code.weight.grad.abs().max() > 0


def gradients(reparameterize, loss):
    """Largest gradient of the code's layer and of the encoder, or None."""
    torch.manual_seed(0)
    generator = LatentUNet(
        reparameterize, num_classes=2, base_channels=4, norm_cfg=None
    )
    image, log_probs = torch.randn(3, 3, 16, 16), torch.randn(3, 2, 16, 16)
    features = generator.encode(image, log_probs.log_softmax(1))
    samples = generator.sample(features, torch.randn(4, 3, 8))
    batch = SampleBatch(
        mean=samples.mean(0),
        samples=samples,
        label=torch.randint(2, (3, 16, 16)),
        num_samples=4,
        log_probs=log_probs.log_softmax(1),
        posterior=generator.posterior(features),
    )
    loss(batch).backward()
    layers = generator.code, generator.down[0][0].conv, generator.up[-1].film
    return [layer.weight.grad.abs().max().item() for layer in layers]


@pytest.mark.parametrize('beta', [0.0, 1.0])
@pytest.mark.parametrize('reparameterize', [True, False])
def test_samples_shape_the_code_only_if_reparameterized(reparameterize, beta):
    """A prior shapes it either way."""
    code, encoder, film = gradients(reparameterize, ELBOLoss(beta))
    assert (code > 0) == (reparameterize or beta > 0)
    assert encoder > 0 and film > 0  # through the skip connections
