"""Many small networks of one shape as one batched network."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .data import BimodalData


class BatchedMLP(nn.Module):
    """R independent multilayer perceptrons, evaluated together.

    The weights of a layer are one tensor with the runs as first dimension.
    Gradients of different runs do not mix, and Adam treats every element on
    its own: one optimiser over the stacked weights is exactly R optimisers.

    Args:
        data: Source of the initial weights' randomness, and of R.
        in_features: Number of inputs.
        hidden: Units of each hidden layer.
        layers: Number of hidden layers.
        slope: Of the leaky ReLUs; 0 makes them ReLUs.
    """

    def __init__(
        self,
        data: BimodalData,
        in_features: int,
        hidden: int = 64,
        layers: int = 4,
        slope: float = 0.01,
    ) -> None:
        super().__init__()
        self.slope = slope
        sizes = [in_features] + layers * [hidden] + [1]
        weights, biases = [], []
        for fan_in, fan_out in pairwise(sizes):
            # The range of nn.Linear.
            bound = 1 / math.sqrt(fan_in)
            draw = 2 * data.uniform(fan_in + 1, fan_out) - 1
            draw = bound * draw.transpose(1, 2)
            weights.append(draw[..., 1:].contiguous())
            biases.append(draw[..., :1].contiguous())
        self.weights = nn.ParameterList(weights)  # (R, out, in) each
        self.biases = nn.ParameterList(biases)  # (R, out, 1) each

    def forward(self, *inputs: Tensor, runs: int | None = None) -> Tensor:
        """Evaluate all runs, or the first ``runs`` of them.

        Args:
            inputs: The input features, (R, N) each.
            runs: Number of runs that ``inputs`` are for; None for all.

        Returns:
            (R, N).
        """
        # Points last: the narrow last layer is ten times faster that way.
        h = torch.stack(inputs, dim=1)
        last = len(self.weights) - 1
        for i in range(last + 1):
            weight, bias = self.weights[i], self.biases[i]
            if runs is not None:
                weight, bias = weight[:runs], bias[:runs]
            h = torch.baddbmm(bias, weight, h)
            if i < last:
                h = F.leaky_relu_(h, self.slope)
        return h.squeeze(1)
