"""Parts of a model, built for the task's classes, and what they share."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from mmcv.cnn import ConvModule
from mmseg.registry import MODELS
from torch import nn

from ..utils.checks import agree

SLOPE = 0.2
leaky_conv = partial(
    ConvModule, act_cfg=dict(type='LeakyReLU', negative_slope=SLOPE)
)
mirrored_conv = partial(
    nn.Conv2d, kernel_size=3, padding=1, padding_mode='reflect'
)


def conv_blocks(
    widths: Sequence[int],
    norm_cfg: dict | None,
    dropout: float,
    stride: int = 1,
) -> list[nn.Sequential]:
    """Convolution 3x3, norm, leaky ReLU, dropout: from width to width."""
    shape = dict(stride=stride, padding=1, norm_cfg=norm_cfg)
    return [
        nn.Sequential(leaky_conv(i, o, 3, **shape), nn.Dropout(dropout))
        for i, o in pairwise(widths)
    ]


def build_part(key: str, cfg: dict, num_classes: int) -> nn.Module:
    """Build a network for the task's classes, refusing another count.

    Args:
        key: Where the config stands, for errors.
        cfg: Config of the network.
        num_classes: Number of classes of the task.
    """
    network = MODELS.build({'num_classes': num_classes, **cfg})
    found = {f'{key}.num_classes': network.num_classes}
    agree({**found, 'classes needed there': num_classes})
    return network
