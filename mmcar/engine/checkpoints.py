"""Which checkpoint of a run can be trusted."""

import logging
import re
from collections.abc import Mapping
from pathlib import Path

from mmengine.logging import print_log
from mmengine.runner import CheckpointLoader, Runner

from ..models.weights import load_weights
from ..utils.errors import UserError
from .distributed import unwrap_model

NEEDED = ('state_dict', 'optimizer', 'message_hub', 'meta')


def damage(path: Path) -> str | None:
    """Say what is wrong with a checkpoint to resume from, if anything.

    Args:
        path: The file.

    Returns:
        The reason not to use it; None if it is whole.
    """
    try:
        loaded = CheckpointLoader.load_checkpoint(str(path), 'cpu')
    except UserError as error:
        return str(error)
    if not isinstance(loaded, Mapping):
        return f'it holds a {type(loaded).__name__}'
    missing = [key for key in NEEDED if key not in loaded]
    return f'it has no {missing}' if missing else None


def find_resumable_checkpoint(
    folder: str | Path, template: str = 'iter_{}.pth'
) -> Path | None:
    """Find the newest whole checkpoint of a run.

    Args:
        folder: Folder of the checkpoints.
        template: Their name; a number takes the place of the braces. Neither
            ``best_GED_iter_100.pth`` nor weights of something else match.

    Returns:
        Its path, or None if there is none. Damaged files are passed over
        with a warning.
    """
    before, after = (re.escape(part) for part in template.split('{}'))
    name = re.compile(rf'{before}(\d+){after}')
    numbered = [
        (int(match[1]), path)
        for path in Path(folder).glob('*')
        if (match := name.fullmatch(path.name))
    ]
    for _, path in sorted(numbered, reverse=True):
        problem = damage(path)
        if problem is None:
            return path
        print_log(
            f'{path} cannot be resumed from ({problem}): trying the one '
            'before it.',
            logger='current',
            level=logging.WARNING,
        )
    return None


def check_resumed(runner: Runner, checkpoint: Mapping) -> None:
    """Refuse to resume from a checkpoint of another model.

    MMEngine says in the log what does not fit, and trains on with random
    weights in its place.

    Args:
        runner: Of the training that resumes.
        checkpoint: What it resumes from.

    Raises:
        UserError: Naming the weights that differ.
    """
    load_weights(
        unwrap_model(runner.model),
        checkpoint.get('state_dict', {}),
        f'the checkpoint to resume from, {runner._load_from}',
        'It is of another model: resume with the config that it was made '
        'with, or move it out of the way.',
    )


def check_started(runner: Runner, checkpoint: Mapping) -> None:
    """Refuse a checkpoint to start from of which no weight fits.

    MMEngine says so in the log, and trains from random weights.

    Args:
        runner: Of the training that starts.
        checkpoint: What it starts from.

    Raises:
        UserError: Naming the checkpoint.
    """
    weights = checkpoint.get('state_dict', checkpoint)
    found = {
        (key.removeprefix('module.'), getattr(weight, 'shape', None))
        for key, weight in weights.items()
    }
    state = unwrap_model(runner.model).state_dict().items()
    own = {
        (key, weight.shape)
        for key, weight in state
        if not key.endswith('num_batches_tracked')
    }
    fits = own & found
    what = f'load_from={runner._load_from!r}'
    if not fits:
        raise UserError(
            f'{what}: none of its {len(found)} weights fits the {len(own)} of '
            'the model, which would start at random. Give a checkpoint of '
            'this model, or use load_from=None; for one network, set its '
            'init_cfg.'
        )
    if len(fits) < len(own):
        print_log(
            f'{what} has {len(fits)} of the {len(own)} weights of the model; '
            'the others start at random.',
            logger='current',
            level=logging.WARNING,
        )
