"""Networks and losses; importing registers them."""

from mmseg.registry import MODELS

from ..sampling import BaseNoise, NormalNoise, SharedGumbel, SobolNoise
from .black_boxes import *  # noqa: F403
from .calibration_nets import *  # noqa: F403
from .data_preprocessor import StochasticDataPreProcessor
from .decode_heads import CARHead
from .discriminators import (
    AuthorsDiscriminator,
    BaseDiscriminator,
    DCGANDiscriminator,
    PatchDiscriminator,
)
from .generators import *  # noqa: F403
from .losses import *  # noqa: F403
from .methods import *  # noqa: F403
from .segmentors import CARSegmentor, StochasticSegmentor, TrainBatch

for _pure in (NormalNoise, SharedGumbel, SobolNoise):
    MODELS.register_module(module=_pure)
