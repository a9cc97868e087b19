"""A step of a training that leaves no trace."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from mmengine.logging import MessageHub
from torch import Tensor, nn


class NoUpdate:
    """Stands in for an optimiser: gradients are computed, nothing learns."""

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Compute as usual."""
        yield

    def update_params(self, loss: Tensor) -> None:
        """Go backwards, and stop there."""
        loss.backward()


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Leave no trace in a model or in the random numbers."""
    hub = MessageHub.get_current_instance()
    info = dict(hub.runtime_info)
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    gradients = [(weight, weight.grad) for weight in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    states = random.getstate(), np.random.get_state()
    # No other GPU: each that is asked gets a context of this process.
    used = torch.cuda.is_initialized()
    gpus = [torch.cuda.current_device()] if used else []
    for weight, _ in gradients:
        weight.grad = None
    try:
        with torch.random.fork_rng(gpus):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        for buffer, before in buffers:
            buffer.detach().copy_(before)
        for weight, gradient in gradients:
            weight.grad = gradient
        for module, mode in modes:
            module.training = mode
        hub.runtime_info.clear()
        hub.runtime_info.update(info)
