"""Configs and weights of MMSeg's models."""

from urllib.error import URLError

from mmengine.config import Config, ConfigDict
from mmengine.hub import get_config
from mmengine.runner.checkpoint import CheckpointLoader
from torch import nn

from ...utils.errors import MissingFileError, UserError
from ...utils.weights import load_weights


def read_segmentor_config(path: str, zoo_weights: bool = False) -> ConfigDict:
    """Read the model of an MMSeg config.

    Args:
        path: Config file, or a stock one as ``'mmseg::deeplabv3/...py'``.
        zoo_weights: Also look up the address of its stock weights.

    Returns:
        The model config, with its data preprocessor (which some configs keep
        beside the model) and, if asked for, ``zoo_weights``.
    """
    try:
        if '::' in path:
            cfg = get_config(path, pretrained=zoo_weights)
        else:
            cfg = Config.fromfile(path)
    except FileNotFoundError as error:
        raise MissingFileError(
            f'black_box.config={path!r} does not exist: expected the path of '
            "an MMSeg config file or 'mmseg::<folder>/<name>.py'."
        ) from error
    if 'model' not in cfg:
        raise UserError(f'black_box.config={path!r} has no key `model`.')
    model = cfg.model
    if model.get('data_preprocessor') is None:
        model.data_preprocessor = cfg.get('data_preprocessor')
    if zoo_weights:
        if cfg.get('model_path') is None:
            raise UserError(
                "black_box.checkpoint='pretrained' needs a stock config "
                "('mmseg::...') that MMSeg has weights for, but "
                f'black_box.config={path!r}.'
            )
        model.zoo_weights = cfg.model_path
    return model


def load_black_box_weights(model: nn.Module, checkpoint: str) -> None:
    """Load a checkpoint (file or URL), which must fit the whole of B.

    Raises:
        MissingFileError: There is no such file, or no way to it.
        UserError: It lacks weights of the model or has them in other shapes.
    """
    try:
        loaded = CheckpointLoader.load_checkpoint(checkpoint, 'cpu', None)
    except (FileNotFoundError, URLError) as error:
        raise MissingFileError(
            f'black_box.checkpoint={checkpoint!r} cannot be read ({error}). '
            'Give the path of a checkpoint of the black box, or None if '
            'its weights are in a checkpoint of the whole model.'
        ) from error
    load_weights(
        model,
        loaded.get('state_dict', loaded),
        source=f'black_box.checkpoint={checkpoint!r}',
        advice='Give the config that this checkpoint was trained with.',
    )
