import torch
from torch import nn

from ..regression_1d.data import BimodalData, grid
from ..regression_1d.networks import BatchedMLP

RUNS = grid(pis=(0.5,), sigmas=(0.01, 0.02), repeats=2)  # 8 runs


def single(network, index):
    """One run as an ordinary torch network."""
    layers = []
    for weight, bias in zip(network.weights, network.biases, strict=True):
        linear = nn.Linear(weight.shape[2], weight.shape[1])
        linear.weight.data = weight[index].detach().clone()
        linear.bias.data = bias[index, :, 0].detach().clone()
        layers += [linear, nn.LeakyReLU(0.01)]
    return nn.Sequential(*layers[:-1])


def test_equals_separate_networks():
    network = BatchedMLP(BimodalData(RUNS), in_features=2, hidden=8)
    inputs = torch.randn(2, len(RUNS), 10)
    outputs = network(*inputs)
    assert outputs.shape == (len(RUNS), 10)
    assert len(network.weights) == 5
    for r in range(len(RUNS)):
        expected = single(network, r)(inputs[:, r].T).squeeze(1)
        assert torch.allclose(outputs[r], expected, atol=1e-6)
    some = network(*inputs[:, :3], runs=3)
    assert torch.allclose(some, outputs[:3])


def test_one_adam_is_many():
    network = BatchedMLP(BimodalData(RUNS), in_features=1, hidden=8)
    x, y = torch.rand(2, len(RUNS), 20)
    singles = [single(network, r) for r in range(len(RUNS))]
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2, fused=True)
    for _ in range(5):
        optimizer.zero_grad()
        (network(x) - y).square().mean(1).sum().backward()
        optimizer.step()
    for r, net in enumerate(singles):
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(5):
            optimizer.zero_grad()
            (net(x[r, :, None]).squeeze(1) - y[r]).square().mean().backward()
            optimizer.step()
        expected = net(x[r, :, None]).squeeze(1)
        assert torch.allclose(network(x)[r], expected, atol=1e-4)


def test_initial_weights_have_the_range_of_linear_layers():
    network = BatchedMLP(BimodalData(RUNS), in_features=1, hidden=16)
    for weight in network.weights:
        bound = weight.shape[2] ** -0.5
        assert 0.8 * bound < weight.abs().max() <= bound
    first, second = network.weights[1][:2]
    assert not torch.equal(first, second)  # two repeats
