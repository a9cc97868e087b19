"""What happens when a loss is not finite."""

import logging
from collections.abc import Mapping

import torch
from mmengine.dist import all_reduce
from mmengine.logging import MessageHub, print_log
from torch import Tensor

from ...utils.errors import NonFiniteError

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
    what = f'{", ".join(bad)} not finite at iteration {iteration}'
    if policy == 'raise':
        checkpoint = hub.runtime_info.get('last_ckpt')
        raise NonFiniteLossError(
            f'{what}. Last good checkpoint: {checkpoint or "none yet"}. '
            "Lower the learning rate, clip gradients, or set nonfinite='skip' "
            'in the model to leave such updates out.'
        )
    skipped = hub.runtime_info.get('skipped_updates', 0) + 1
    hub.update_info('skipped_updates', skipped)
    in_a_row = hub.runtime_info.get(row, 0) + 1
    hub.update_info(row, in_a_row)
    if in_a_row >= MAX_SKIPPED:
        raise NonFiniteLossError(
            f'{what}, the {in_a_row}th update in a row to be skipped. Look '
            'for images with NaN (tools/analysis_tools/check_dataset.py), or '
            'lower the learning rate.'
        )
    print_log(
        f'{what}: update skipped ({skipped} so far).',
        logger='current',
        level=logging.WARNING,
    )
    return False
