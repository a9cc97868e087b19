"""Channels last where it is faster: the same numbers in another order."""

import pytest
import torch
from torch import nn

from mmcar.sampling.kernels.memory_format import fast_layout, lay_out_weights
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
    seen = []
    network = model.networks()[name]
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and module.kernel_size != (1, 1):
            module.register_forward_pre_hook(
                lambda module, args: seen.append((module, args[0]))
            )
    model.train_step(toy_batch(), {name: toy_optims(model)[name]})
    assert seen
    for module, x in seen:
        last = torch.channels_last
        assert module.weight.is_contiguous(memory_format=last), module
        if len(x) > 1:  # a bias goes through a convolution by itself
            assert x.is_contiguous(memory_format=last) or x.shape[1] == 1
