"""What a step of training does to networks, their buffers and optimisers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from mmengine.dist import all_reduce_params
from mmengine.optim import OptimWrapper
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase


@contextmanager
def frozen(networks: Iterable[nn.Module]) -> Iterator[None]:
    """Let gradients pass through networks without reaching their weights."""
    weights = [p for network in networks for p in network.parameters()]
    trainable = [p for p in weights if p.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)


def leave_out(optim: Any) -> None:
    """Count a batch that is skipped, as one that adds no gradient.

    So updates of accumulated batches stay where the iteration number puts
    them. One that is due is made of the batches that were not skipped.
    """
    if not isinstance(optim, OptimWrapper):
        return  # a stand-in that never updates
    optim._inner_count += 1
    waiting = [
        weight.grad
        for group in optim.param_groups
        for weight in group['params']
        if weight.grad is not None
    ]
    if waiting and optim.should_update():
        # Processes share gradients at the last batch, which is this one.
        all_reduce_params(waiting, op='mean')
        optim.step()
        optim.zero_grad()


def norm_statistics(networks: Iterable[nn.Module]) -> list[Tensor]:
    """Means and variances that the norms of networks keep."""
    return [
        buffer
        for network in networks
        for module in network.modules()
        if isinstance(module, _NormBase)
        for buffer in module.buffers(recurse=False)
        if buffer.is_floating_point()
    ]


class NetworkLosses(nn.Module):
    """``model.losses(name, batch)`` as a module with one network's weights.

    Distributed wrappers take a module and synchronise the gradients of its
    parameters. Wrapped in this form, a network learns from anything that
    `losses` computes, however it is called there.

    Args:
        model: The model; not a child of this module.
        name: Name of the network.
    """

    def __init__(self, model: Any, name: str) -> None:
        super().__init__()
        self.network = model.networks()[name]
        self._losses = partial(model.losses, name)

    def forward(self, batch: Any) -> dict[str, Tensor]:
        """Return what the network learns from."""
        return self._losses(batch)
