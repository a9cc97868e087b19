"""Modules and weights of a network, found anew and without their names.

PyTorch's own ``modules()`` and ``parameters()`` make names on the way, in a
generator per level, which takes several times as long. A step of training asks
for them; nothing is kept, since a part of a network may be replaced.
"""

from torch import nn


def modules_of(network: nn.Module) -> list[nn.Module]:
    """What ``network.modules()`` gives, each once, in the same order."""
    found: dict[nn.Module, None] = {}
    waiting = [network]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found[module] = None
        children = reversed(module._modules.values())
        waiting.extend(child for child in children if child is not None)
    return list(found)


def parameters_of(network: nn.Module) -> list[nn.Parameter]:
    """What ``network.parameters()`` gives, each once, in the same order."""
    return list(
        dict.fromkeys(
            parameter
            for module in modules_of(network)
            for parameter in module._parameters.values()
            if parameter is not None
        )
    )
