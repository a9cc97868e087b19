"""Data-parallel training of several networks that take turns."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from mmengine import dist
from mmengine.device import get_device
from mmengine.logging import print_log
from mmengine.model import is_model_wrapper, revert_sync_batchnorm
from mmengine.registry import MODEL_WRAPPERS
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..models.segmentors.training import NetworkLosses, norm_statistics
from ..sampling.kernels import lay_out_weights


def unwrap_model(model: nn.Module) -> Any:
    """The model itself, without a distributed wrapper."""
    return model.module if is_model_wrapper(model) else model


@torch.no_grad()
def average_statistics(networks: Iterable[nn.Module]) -> None:
    """Give running statistics of norms their mean over all processes.

    Each process has seen its own part of the batch. Averages of linear
    updates are updates of averages: it does not matter how often this is
    done, and after every step all processes validate, save and calibrate
    with the same numbers.
    """
    statistics = norm_statistics(networks)
    if dist.get_world_size() == 1 or not statistics:
        return
    joint = torch.cat([buffer.flatten() for buffer in statistics])
    dist.all_reduce(joint, op='mean')
    parts = joint.split([buffer.numel() for buffer in statistics])
    for buffer, part in zip(statistics, parts, strict=True):
        buffer.copy_(part.view_as(buffer))


def mean_gradients(model: nn.Module) -> dict[str, Tensor]:
    """Gradients that wait for more, their mean over all processes.

    Each process accumulates those of its own batches; they are shared when
    the update is due, as their mean.

    Args:
        model: Without a distributed wrapper; it is left as it is.

    Returns:
        Copies, by parameter.
    """
    waiting = {
        name: weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.grad is not None
    }
    if waiting:
        dist.all_reduce_params(list(waiting.values()), op='mean')
    return {name: gradient.cpu() for name, gradient in waiting.items()}


# In MMEngine's registry: the runner looks for wrappers nowhere else.
@MODEL_WRAPPERS.register_module()
class NetworkwiseDistributedDataParallel(nn.Module):
    """Keeps a DDP for each network beside the model.

    One DDP around the whole model waits in vain for gradients of networks
    that sit an iteration out. Here each network has a wrapper of its own,
    around what it learns from; the model and its checkpoints know nothing of
    it. Batch norm counts the part of the batch that each process sees, unless
    the config says ``sync_bn='torch'``; its running statistics are the same
    everywhere after each step.

    Args:
        module: A `StochasticSegmentor`.
        find_unused_parameters: As in torch; needed only by networks some of
            whose parameters get no gradient.

    Example:
        >>> model_wrapper_cfg = dict(type='NetworkwiseDistributedDataParallel')
    """

    module: Any

    def __init__(
        self, module: Any, find_unused_parameters: bool = False
    ) -> None:
        super().__init__()
        self.module = module = module.to(get_device())
        if get_device() == 'cpu' and any(
            isinstance(part, nn.SyncBatchNorm) for part in module.modules()
        ):
            print_log(
                "torch's SyncBatchNorm does not train on CPUs: each process "
                'normalises its own part of the batch.',
                'current',
                logging.WARNING,
            )
            revert_sync_batchnorm(module)
        # Frozen parts are in no DDP.
        for tensor in module.state_dict().values():
            dist.broadcast(tensor)
        for network in module.networks().values():
            lay_out_weights(network)  # DDP wants gradients in this order
        # Not children: the weights belong to the model alone.
        self.learners = {
            name: DistributedDataParallel(
                NetworkLosses(module, name),
                broadcast_buffers=False,
                find_unused_parameters=find_unused_parameters,
            )
            for name in module.networks()
        }

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model."""
        return self.module(*args, **kwargs)

    def train_step(
        self, data: Any, optim_wrapper: Mapping
    ) -> dict[str, float]:
        """Train the networks whose optimisers are given."""
        log = self.module.train_step(data, optim_wrapper, self.learners)
        # Those that learn, and an F whose norms move while G learns.
        networks = self.module.networks().values()
        average_statistics(n for n in networks if n.training)
        return log

    def val_step(self, data: Any) -> list:
        """Predict while validating."""
        return self.module.val_step(data)

    def test_step(self, data: Any) -> list:
        """Predict while testing."""
        return self.module.test_step(data)
