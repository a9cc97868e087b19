"""The short walk finds what PyTorch's finds."""

from torch import nn

from mmcar.utils.walking import modules_of, parameters_of
from tests.toys import toy_model


def shared_parts():
    """Modules and weights that are there twice, or not at all."""
    conv, norm = nn.Conv2d(2, 2, 1, bias=False), nn.BatchNorm2d(2)
    inner = nn.Sequential(conv, norm)
    network = nn.Sequential(inner, nn.ReLU(), nn.ModuleDict(dict(a=inner)))
    other = nn.Conv2d(2, 2, 1)
    other.weight = conv.weight
    network.append(other)
    network.register_module('nothing', None)
    return network


def same(found, expected):
    expected = list(expected)
    assert [id(x) for x in found] == [id(x) for x in expected]
    assert len(expected) > 3


def test_all_of_them_once_and_in_order():
    for network in (shared_parts(), toy_model()):
        same(modules_of(network), network.modules())
        same(parameters_of(network), network.parameters())


def test_a_part_that_is_replaced_is_found():
    network = shared_parts()
    modules_of(network), parameters_of(network)
    network[1] = nn.Linear(3, 3)
    same(modules_of(network), network.modules())
    same(parameters_of(network), network.parameters())
