"""The order of numbers in memory that convolutions are fastest with.

On CPUs that is channels last: it gains 1.46 times in a step of the recipe's G
at 64x64, 1.04 to 1.06 times in steps of the paper's networks. Other devices
keep what the user chose: nothing was measured there.
"""

import torch
from torch import Tensor, nn

CHANNELS_LAST = ('cpu',)
"""Types of devices where channels last is faster, by measurement."""


def fast_layout(maps: Tensor) -> Tensor:
    """Maps (N, C, H, W) in the order that is fastest on their device."""
    if maps.device.type not in CHANNELS_LAST:
        return maps
    return maps.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def lay_out_weights(network: nn.Module) -> None:
    """Bring a network's convolutions into that order; values do not change.

    Every step of training asks for it; the first finds something to do.
    """
    for weight in network.parameters():
        if weight.dim() != 4 or weight.device.type not in CHANNELS_LAST:
            continue
        # Strides decide, also of 1x1 kernels, whose numbers stay in place:
        # DDP wants those of the gradients.
        _, inputs, height, width = weight.shape
        strides = (inputs * height * width, 1, width * inputs, inputs)
        if weight.stride() != strides:
            last = torch.empty_like(weight, memory_format=torch.channels_last)
            # The data only: optimisers hold the parameter itself.
            weight.data = last.copy_(weight)
