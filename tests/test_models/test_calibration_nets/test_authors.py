"""The authors' calibration nets against their layers written out."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmcar.models import AuthorsConvCalibration, VGGCalibration


def mirrored(x: Tensor, conv: nn.Conv2d) -> Tensor:
    padded = F.pad(x, (1, 1, 1, 1), mode='reflect')
    return F.conv2d(padded, conv.weight, conv.bias)


def normed(x: Tensor, norm: nn.BatchNorm2d) -> Tensor:
    """Of a net in eval mode."""
    mean, var = norm.running_mean, norm.running_var
    x = (x - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
    return x * norm.weight[:, None, None] + norm.bias[:, None, None]


def with_statistics(net: nn.Module) -> nn.Module:
    """Norms that do something, in eval mode."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.3)
            nn.init.uniform_(module.running_var, 0.5, 2)
    return net.eval()


def test_net_on_a_black_box():
    torch.manual_seed(0)
    net = AuthorsConvCalibration(
        num_classes=4, black_box_classes=5, channels=6
    )
    net = with_statistics(net)
    image, probs = torch.randn(2, 3, 17, 22), torch.rand(2, 5, 17, 22)
    convs = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    norms = [m for m in net.modules() if isinstance(m, nn.BatchNorm2d)]
    assert (len(convs), len(norms)) == (5, 4)
    x = torch.cat((image, probs), 1)
    for conv, norm in zip(convs, norms, strict=False):
        x = F.leaky_relu(normed(mirrored(x, conv), norm), 0.2)
    x = mirrored(x, convs[-1])
    assert torch.allclose(net(image, probs), x, atol=1e-5)
    drops = [m.p for m in net.modules() if isinstance(m, nn.Dropout)]
    assert drops == [0.2] * 5


def vgg_written_out(net: VGGCalibration, x: Tensor) -> Tensor:
    """Up to the weights, nothing in common with the net's own code."""
    layers = list(net.encoder.features)
    pooled = []
    for convs in (2, 2, 4, 4, 4):
        for _ in range(convs):
            conv, norm, _ = (layers.pop(0) for _ in range(3))
            x = F.conv2d(x, conv.weight, conv.bias, padding=1)
            x = normed(x, norm).relu()
        layers.pop(0)
        x = F.max_pool2d(x, 2)
        pooled.append(x)

    def up(x, conv):
        return F.conv_transpose2d(x, conv.weight, conv.bias, stride=2)

    def block(x, part):
        x = F.conv2d(x, part[0].weight, part[0].bias, padding=1)
        return normed(x, part[1]).relu()

    x = up(x, net.deepest.up)
    for _ in range(4):  # the same layers each time
        x = block(x, net.deepest.block)
    for part, skip, middles in zip(
        net.up, pooled[3::-1], (2, 2, 0, 0), strict=True
    ):
        x = up(torch.cat((skip, x), 1), part.up)
        x = block(x, part.first)
        for _ in range(middles):
            x = block(x, part.middle)
        x = block(x, part.last)
    return mirrored(x, net.logits)


def test_vgg_equals_its_layers_written_out():
    torch.manual_seed(0)
    net = with_statistics(VGGCalibration(num_classes=2))
    image = torch.randn(1, 3, 64, 32)
    with torch.no_grad():
        logits, wanted = net(image), vgg_written_out(net, image)
    assert logits.std() > 1e-3
    assert torch.allclose(logits, wanted, atol=1e-4 * logits.std())


def test_vgg_takes_any_size_and_learns_everywhere():
    torch.manual_seed(0)
    net = VGGCalibration(num_classes=3)
    logits = net(torch.randn(2, 3, 37, 21))
    assert logits.shape == (2, 3, 37, 21)
    logits[:, 0].square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_vgg_encoder_takes_weights_with_the_names_of_torchvision(tmp_path):
    """Index of each layer as in ``torchvision.models.vgg19_bn``."""
    net = VGGCalibration(num_classes=2)
    names = [n for n in net.encoder.state_dict() if n.endswith('weight')]
    convs = [n for n in names if net.encoder.state_dict()[n].ndim == 4]
    indices = [int(n.split('.')[1]) for n in convs]
    assert indices == [0, 3, 7, 10, 14, 17, 20, 23, 27, 30, 33, 36, 40, 43,
                       46, 49]  # fmt: skip
    weights = {
        name: torch.full_like(value, 0.5)
        for name, value in net.encoder.state_dict().items()
    }
    weights['classifier.0.weight'] = torch.zeros(1)  # not needed here
    torch.save(weights, tmp_path / 'vgg.pth')
    net = VGGCalibration(
        num_classes=2, encoder_weights=str(tmp_path / 'vgg.pth')
    )
    net.init_weights()
    assert (net.encoder.features[49].weight == 0.5).all()
    assert not (net.deepest.block[0].weight == 0.5).any()
