"""Data-parallel training of several networks that take turns."""

from typing import Any

from mmengine.device import get_device
from mmengine.dist import broadcast
from mmengine.model import MMDistributedDataParallel, is_model_wrapper
from mmengine.registry import MODEL_WRAPPERS
from torch import Tensor, nn


def unwrap_model(model: nn.Module) -> nn.Module:
    """The model or network itself, without a distributed wrapper."""
    return model.module if is_model_wrapper(model) else model


class NetworkDistributedDataParallel(MMDistributedDataParallel):
    """DDP around one network that leaves no trace in checkpoints.

    MMEngine looks through wrappers when it loads a state dict, but not when
    it saves one: without this, keys would depend on the number of processes.
    """

    def state_dict(
        self,
        *,
        destination: dict | None = None,
        prefix: str = '',
        keep_vars: bool = False,
    ) -> dict[str, Tensor]:
        """State of the wrapped network under the network's own keys."""
        return self.module.state_dict(
            destination=destination, prefix=prefix, keep_vars=keep_vars
        )


# In MMEngine's registry: the runner looks for wrappers nowhere else.
@MODEL_WRAPPERS.register_module()
class NetworkwiseDistributedDataParallel(nn.Module):
    """Wraps each network of a model in its own DDP.

    One DDP around the whole model waits in vain for gradients of networks
    that sit an iteration out. Gradients are synchronised where a network's
    ``forward`` is called through the wrapper that ``set_network`` installs.

    Args:
        module: Model with ``networks()`` and ``set_network(name, network)``.
        find_unused_parameters: As in torch; needed only by networks some of
            whose parameters get no gradient.

    Example:
        >>> model_wrapper_cfg = dict(type='NetworkwiseDistributedDataParallel')
    """

    def __init__(
        self, module: nn.Module, find_unused_parameters: bool = False
    ) -> None:
        super().__init__()
        self.module = module.to(get_device())
        # DDP would skip buffers, and frozen parts are in no DDP at all.
        for tensor in module.state_dict().values():
            broadcast(tensor)
        for name, network in module.networks().items():
            wrapped = NetworkDistributedDataParallel(
                network,
                broadcast_buffers=False,
                find_unused_parameters=find_unused_parameters,
            )
            module.set_network(name, wrapped)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model."""
        return self.module(*args, **kwargs)

    def train_step(self, data: Any, optim_wrapper: Any) -> dict[str, Tensor]:
        """Train the networks whose optimisers are given."""
        return self.module.train_step(data, optim_wrapper)

    def val_step(self, data: Any) -> list:
        """Predict while validating."""
        return self.module.val_step(data)

    def test_step(self, data: Any) -> list:
        """Predict while testing."""
        return self.module.test_step(data)
