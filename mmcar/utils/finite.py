"""What happens when a loss is not finite."""

import logging
from collections.abc import Mapping

import torch
from mmengine.dist import all_reduce
from mmengine.logging import MessageHub, print_log
from torch import Tensor

from .errors import UserError

POLICIES = ('raise', 'skip')
MAX_SKIPPED = 50  # updates in a row: then it is no accident


class NonFiniteLossError(UserError, RuntimeError):
    """A loss became NaN or infinite, on this or on another process."""


def check_finite(
    losses: Mapping[str, Tensor], policy: str = 'raise', network: str = ''
) -> bool:
    """Say whether all losses are finite; all processes agree on it.

    Args:
        losses: Losses of one update by name, or what else must be finite.
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
    if policy not in POLICIES:
        raise UserError(f'nonfinite={policy!r}; expected one of {POLICIES}.')
    finite = torch.stack(
        [loss.detach().isfinite().all() for loss in losses.values()]
    ).float()
    all_reduce(finite, op='min')
    hub = MessageHub.get_current_instance()
    row = f'{network}_skipped_in_a_row'
    if finite.min() == 1:
        if policy == 'skip':
            hub.update_info(row, 0)
        return True
    flags = dict(zip(losses, finite.tolist(), strict=True))
    bad = [name for name, flag in flags.items() if flag != 1]
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
            f'{what}, the {in_a_row}th update in a row to be skipped: this '
            'training does not recover. Look for the cause: images with NaN '
            '(tools/analysis_tools/check_dataset.py finds them), a learning '
            'rate that is too high.'
        )
    print_log(
        f'{what}: update skipped ({skipped} so far).',
        logger='current',
        level=logging.WARNING,
    )
    return False
