"""Weights of one model for another: all of them fit, or none is taken."""

from collections.abc import Mapping
from urllib.error import URLError

from mmengine.runner.checkpoint import CheckpointLoader
from torch import Tensor, nn

from ..utils.errors import MissingFileError, UserError

SHOWN = 8


def load_weights(
    module: nn.Module,
    weights: Mapping[str, Tensor],
    source: str,
    advice: str = 'Give the config that it was trained with.',
) -> None:
    """Load weights that must cover the whole of a module.

    MMEngine logs weights that are missing or of another shape and goes on
    with random ones. Weights that the module has no place for are no
    problem: checkpoints keep auxiliary heads that a config may drop.

    Args:
        module: Gets the weights.
        weights: By name, as a state dict.
        source: Where they come from, e.g. ``"black_box.checkpoint='x.pth'"``.
        advice: What to do if they do not fit.

    Raises:
        UserError: Naming the first weights that differ.
    """
    found = {key.removeprefix('module.'): w for key, w in weights.items()}
    own = module.state_dict()
    problems = [
        f'{key}: {tuple(found[key].shape)} in the file, '
        f'{tuple(own[key].shape)} in the model'
        for key in own.keys() & found.keys()
        if found[key].shape != own[key].shape
    ]
    if not problems:
        # Modules may rename keys of old checkpoints while they load.
        missing = module.load_state_dict(found, strict=False).missing_keys
        problems = [
            f'{key}: not in the file'
            for key in missing
            if not key.endswith('num_batches_tracked')
        ]
    if problems:
        shown = '\n  '.join(sorted(problems)[:SHOWN])
        raise UserError(
            f'{source} does not fit, {len(problems)} of {len(own)} weights '
            f'differ:\n  {shown}\n{advice}'
        )


def load_checkpoint(
    module: nn.Module,
    checkpoint: str,
    source: str | None = None,
    prefix: str = '',
) -> dict:
    """Load a checkpoint that must cover the whole of a module.

    Args:
        module: Gets the weights.
        checkpoint: Path or URL.
        source: See `load_weights`; None for the checkpoint's own name.
        prefix: What the names of the module's weights begin with there.

    Returns:
        All that the checkpoint holds.

    Raises:
        MissingFileError: There is no such file, or no way to it.
        UserError: See `load_weights`.
    """
    source = source or f'Checkpoint {checkpoint}'
    try:
        loaded = CheckpointLoader.load_checkpoint(checkpoint, 'cpu', None)
    except (FileNotFoundError, URLError) as error:
        raise MissingFileError(
            f'{source} cannot be read ({error}): expected a path or URL'
        ) from error
    weights = loaded.get('state_dict', loaded)
    weights = {
        key.removeprefix(prefix): weight
        for key, weight in weights.items()
        if key.startswith(prefix)
    }
    load_weights(module, weights, source)
    return loaded
