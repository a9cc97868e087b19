import pytest
import torch

from mmcar.models import LatentUNet, RefinementUNet
from mmcar.models.losses import CalibrationLoss, ELBOLoss, SampleBatch


def test_latent_code_takes_the_place_of_noise():
    torch.manual_seed(0)
    generator = LatentUNet(num_classes=3, base_channels=4).eval()
    image = torch.randn(2, 3, 16, 16)
    log_probs = torch.randn(2, 3, 16, 16).log_softmax(1)
    z = torch.randn(3, 2, 8)
    output = generator(image, log_probs, z)
    mean, logvar = output.posterior
    assert mean.shape == logvar.shape == (2, 8)
    assert not torch.allclose(mean[0], mean[1])
    plain = RefinementUNet(num_classes=3, base_channels=4).eval()
    plain.load_state_dict(generator.state_dict(), strict=False)
    code = mean + (logvar / 2).exp() * z
    wanted = plain(image, log_probs, code).results
    assert torch.allclose(output.results, wanted, atol=1e-5)
    assert plain(image, log_probs, z).posterior is None
    output.results[0, 0, 0].sum().backward()
    assert generator.code.weight.grad.abs().max() > 0


def gradients(reparameterize, loss):
    """Largest gradient of the code's layer and of the encoder, or None."""
    torch.manual_seed(0)
    generator = LatentUNet(
        reparameterize, num_classes=2, base_channels=4, norm_cfg=None
    )
    batch = sample_batch(generator)
    loss(batch).backward()
    layers = generator.code, generator.down[0][0].conv, generator.up[-1].film
    found = [layer.weight.grad for layer in layers]
    return [None if g is None else g.abs().max().item() for g in found]


def sample_batch(generator):
    image = torch.randn(3, 3, 16, 16)
    log_probs = torch.randn(3, 2, 16, 16).log_softmax(1)
    output = generator(image, log_probs, torch.randn(4, 3, 8))
    return SampleBatch(
        mean=output.results.mean(0),
        samples=output.results,
        label=torch.randint(2, (3, 16, 16)),
        num_samples=4,
        log_probs=log_probs,
        posterior=output.posterior,
    )


@pytest.mark.parametrize('loss', [CalibrationLoss(), ELBOLoss(beta=0.0)])
def test_samples_shape_the_code_only_if_reparameterized(loss):
    code, encoder, film = gradients(True, loss)
    assert code > 0 and encoder > 0 and film > 0
    code, encoder, film = gradients(False, loss)
    assert not code  # none at all, or zeros from the absent prior
    assert encoder > 0 and film > 0  # through the skip connections


def test_a_prior_shapes_the_code_either_way():
    for reparameterize in (True, False):
        code, _, _ = gradients(reparameterize, ELBOLoss(beta=1.0))
        assert code > 0


def test_values_do_not_depend_on_the_gradient():
    torch.manual_seed(0)
    first = LatentUNet(True, num_classes=2, base_channels=4).eval()
    second = LatentUNet(False, num_classes=2, base_channels=4).eval()
    second.load_state_dict(first.state_dict())
    inputs = torch.randn(1, 3, 16, 16), torch.randn(1, 2, 16, 16)
    z = torch.randn(2, 1, 8)
    assert torch.equal(first(*inputs, z).results, second(*inputs, z).results)
