"""A step of training: its batch, and what it does to networks and optimisers.

Losses that are not finite stop it, or leave it out.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from mmengine.dist import all_reduce, all_reduce_params
from mmengine.logging import MessageHub, print_log
from mmengine.optim import OptimWrapper
from mmseg.structures import SegDataSample
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from ...structures import label_distribution
from ...utils.errors import NonFiniteError


@dataclass
class TrainBatch:
    """Images with their labels, stacked.

    Args:
        image: Normalised images (B, C, H, W).
        data_samples: Their data samples, B of them.
        num_classes: Number of classes K.
        ignore_index: Id of unlabelled pixels.
        seed: Seeds of the step's noise: that of the run, the iteration.
    """

    image: Tensor
    data_samples: Sequence[SegDataSample]
    num_classes: int
    ignore_index: int = 255
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        #: The drawn label (B, H, W).
        self.label = torch.cat([s.gt_sem_seg.data for s in self.data_samples])

    @cached_property
    def mask(self) -> Tensor:
        """1 where the drawn label is known (B, 1, H, W)."""
        known = self.label != self.ignore_index
        return known[:, None].to(self.image.dtype)

    @cached_property
    def real(self) -> Tensor:
        """The drawn label as D sees it (B, K, H, W), 0 where it is ignored.

        Made when it is asked for: F and a G without an adversary do not.
        """
        ids = self.label.where(self.label != self.ignore_index, 0)
        real = F.one_hot(ids, self.num_classes).movedim(-1, 1)
        return real.to(self.image.dtype) * self.mask

    def label_distribution(self) -> tuple[Tensor, Tensor]:
        """Label distribution (B, K, H, W) and where it is known (B, H, W)."""
        pairs = [
            label_distribution(s, self.num_classes, self.ignore_index)
            for s in self.data_samples
        ]
        probs, valid = zip(*pairs, strict=True)
        return torch.stack(probs), torch.stack(valid)

    def labels(self) -> Tensor:
        """Every annotator's label (B, A, H, W).

        Missing annotators are filled with maps of the ignore index. Where
        classes flip at random, the drawn label is the only one there is.
        """
        drawn = self.label[:, None]
        if any(
            'gt_sem_segs' not in s or s.get('class_flips')
            for s in self.data_samples
        ):
            return drawn
        size = self.image.shape[-2:]
        maps = [s.gt_sem_segs.data for s in self.data_samples]
        most = max(len(m) for m in maps)
        full = drawn.new_full((len(maps), most, *size), self.ignore_index)
        for row, annotators in zip(full, maps, strict=True):
            row[: len(annotators)] = annotators
        return full


POLICIES = ('raise', 'skip')
MAX_SKIPPED = 50  # updates in a row: then it is no accident


class NonFiniteLossError(NonFiniteError, RuntimeError):
    """A loss became NaN or infinite, on this or on another process."""


def look_at(
    checked: Mapping[str, Tensor], logged: Mapping[str, Tensor]
) -> tuple[dict[str, bool], dict[str, float]]:
    """Bring all that is looked at in an update to the CPU, at once.

    A GPU waits for every look, hence there is one.

    Args:
        checked: What must be finite, of any shape.
        logged: Values with one element each.

    Returns:
        Whether each is finite, on all processes, and the values.
    """
    finite = torch.stack(
        [tensor.detach().isfinite().all() for tensor in checked.values()]
    ).float()
    all_reduce(finite, op='min')
    values = [v.detach().reshape(1).to(finite.device) for v in logged.values()]
    seen = torch.cat([finite, *values]).tolist()
    flags = [flag == 1 for flag in seen[: len(checked)]]
    return (
        dict(zip(checked, flags, strict=True)),
        dict(zip(logged, seen[len(checked) :], strict=True)),
    )


def check_finite(
    finite: Mapping[str, bool], policy: str = 'raise', network: str = ''
) -> bool:
    """Say whether all losses are finite.

    Args:
        finite: Whether each loss of an update is, and what else must be, by
            name; the same on all processes.
        policy: ``'raise'`` stops training, ``'skip'`` asks the caller to
            leave this update out; the number of updates left out is logged
            and kept in the message hub as ``skipped_updates``; training
            stops after `MAX_SKIPPED` of them in a row.
        network: The one to update; each has a row of its own, else one that
            learns would hide another that does not.

    Returns:
        Whether the update may be made.

    Raises:
        NonFiniteLossError: Under ``'raise'``, naming the iteration, the
            losses and the last good checkpoint.
    """
    hub = MessageHub.get_current_instance()
    row = f'{network}_skipped_in_a_row'
    bad = [name for name, fine in finite.items() if not fine]
    if not bad:
        if policy == 'skip':
            hub.update_info(row, 0)
        return True
    iteration = hub.runtime_info.get('iter', 0) + 1
    what = f'{", ".join(bad)} not finite at step {iteration}'
    if policy == 'raise':
        checkpoint = hub.runtime_info.get('last_ckpt')
        raise NonFiniteLossError(
            f'{what}. Last good checkpoint: {checkpoint or "none yet"}. Lower '
            "the learning rate, clip gradients, or set model.nonfinite='skip'."
        )
    skipped = hub.runtime_info.get('skipped_updates', 0) + 1
    hub.update_info('skipped_updates', skipped)
    in_a_row = hub.runtime_info.get(row, 0) + 1
    hub.update_info(row, in_a_row)
    if in_a_row >= MAX_SKIPPED:
        raise NonFiniteLossError(
            f'{what}, the {in_a_row}th in a row to be skipped. Look for NaN '
            'in images (check_dataset.py), or lower the learning rate.'
        )
    message = f'{what}: update skipped ({skipped} so far).'
    print_log(message, logger='current', level=logging.WARNING)
    return False


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
