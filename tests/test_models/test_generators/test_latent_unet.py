import torch

from mmcar.models import LatentUNet, RefinementUNet


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
