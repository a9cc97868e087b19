"""Parts of a model, built for the task's classes, and what they share."""

from functools import partial

from mmcv.cnn import ConvModule
from mmseg.registry import MODELS
from torch import nn

from ..utils.errors import UserError

SLOPE = 0.2
leaky_conv = partial(
    ConvModule, act_cfg=dict(type='LeakyReLU', negative_slope=SLOPE)
)
mirrored_conv = partial(
    nn.Conv2d, kernel_size=3, padding=1, padding_mode='reflect'
)


def conv_block(
    in_channels: int,
    out_channels: int,
    norm_cfg: dict | None,
    dropout: float,
    stride: int = 1,
) -> nn.Sequential:
    """Convolution 3x3, norm, leaky ReLU, dropout."""
    shape = dict(stride=stride, padding=1, norm_cfg=norm_cfg)
    conv = leaky_conv(in_channels, out_channels, 3, **shape)
    return nn.Sequential(conv, nn.Dropout(dropout))


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
            f'{key}.num_classes={network.num_classes}: expected {num_classes}'
        )
    return network
