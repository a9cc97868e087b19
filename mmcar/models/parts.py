"""Parts of a model, built for the task's classes."""

from mmseg.registry import MODELS
from torch import nn

from ..utils.errors import UserError


def build_part(key: str, cfg: dict, num_classes: int) -> nn.Module:
    """Build a network for the task's classes, refusing another count.

    Args:
        key: Where the config stands, for errors.
        cfg: Config of the network.
        num_classes: Number of classes of the task.
    """
    network = MODELS.build({'num_classes': num_classes, **cfg})
    if network.num_classes != num_classes:
        raise UserError(
            f'{key}.num_classes is {network.num_classes}, but the model has '
            f'{num_classes} classes: make them agree.'
        )
    return network
