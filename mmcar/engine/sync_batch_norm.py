"""Batch norm over the joint batch of all processes, on any device.

torch's ``SyncBatchNorm`` trains on accelerators only. Where processes run on
CPUs, this takes its place.
"""

import torch
import torch.distributed
from mmengine.dist import is_distributed
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.modules.batchnorm import _BatchNorm


class AnyDeviceSyncBatchNorm(_BatchNorm):
    """``SyncBatchNorm`` in plain operations with differentiable sums."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (N, C, ...) by the statistics of all processes."""
        if not (self.training and is_distributed()):
            return nn.functional.batch_norm(
                x,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                self.training,
                self.momentum or 0.0,
                self.eps,
            )
        axes = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        count = x.new_tensor([x.numel() / x.shape[1]])
        sums = torch.cat((x.sum(axes), count))
        sums = all_reduce(sums)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centred = x - mean.view(shape)
        var = all_reduce(centred.square().sum(axes)) / count
        self._track(mean.detach(), var.detach(), count)
        scale = (var + self.eps).rsqrt()
        if self.affine:
            scale = scale * self.weight
        out = centred * scale.view(shape)
        return out + self.bias.view(shape) if self.affine else out

    @torch.no_grad()
    def _track(self, mean: Tensor, var: Tensor, count: Tensor) -> None:
        """Move the running statistics, the variance without bias."""
        steps = self.num_batches_tracked
        if self.running_mean is None or self.running_var is None:
            return  # norms without running statistics
        assert steps is not None
        steps += 1
        momentum = self.momentum
        if momentum is None:  # a plain average over all batches
            momentum = 1 / float(steps)
        self.running_mean.lerp_(mean, momentum)
        self.running_var.lerp_(var * count / (count - 1), momentum)


def use_sync_batch_norm_of_any_device(model: nn.Module) -> None:
    """Let the ``SyncBatchNorm`` layers of a model on a CPU work there."""
    for module in model.modules():
        on_cpu = all(p.device.type == 'cpu' for p in module.parameters())
        if type(module) is nn.SyncBatchNorm and on_cpu:
            module.__class__ = AnyDeviceSyncBatchNorm  # type: ignore
