"""Networks and losses; importing registers them."""

from mmseg.registry import MODELS

from ..sampling import BaseNoise, NormalNoise, SharedGumbel, SobolNoise
from . import (
    black_boxes,
    calibration_nets,
    decode_heads,
    discriminators,
    generators,
    losses,
    methods,
    segmentors,
)
from .black_boxes import *  # noqa: F403
from .calibration_nets import *  # noqa: F403
from .data_preprocessor import StochasticDataPreProcessor
from .decode_heads import *  # noqa: F403
from .discriminators import *  # noqa: F403
from .generators import *  # noqa: F403
from .losses import *  # noqa: F403
from .methods import *  # noqa: F403
from .segmentors import *  # noqa: F403

for _pure in (NormalNoise, SharedGumbel, SobolNoise):
    MODELS.register_module(module=_pure)

__all__ = [
    'BaseNoise',
    'NormalNoise',
    'SharedGumbel',
    'SobolNoise',
    'StochasticDataPreProcessor',
    *black_boxes.__all__,
    *calibration_nets.__all__,
    *decode_heads.__all__,
    *discriminators.__all__,
    *generators.__all__,
    *losses.__all__,
    *methods.__all__,
    *segmentors.__all__,
]
