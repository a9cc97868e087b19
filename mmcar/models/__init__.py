"""Networks and losses; importing registers them."""

from .black_boxes import BlackBox, CachedBlackBox
from .calibration_nets import (
    AuthorsConvCalibration,
    BaseCalibration,
    ConvCalibration,
    FlippedDecision,
    KnownDistribution,
    MMSegCalibration,
    ProbabilityScaling,
    SegNetCalibration,
    UniformCalibration,
    VGGCalibration,
)
from .data_preprocessor import StochasticDataPreProcessor
from .decode_heads import CARHead
from .discriminators import (
    AuthorsDiscriminator,
    BaseDiscriminator,
    DCGANDiscriminator,
    PatchDiscriminator,
)
from .generators import (
    ArgmaxSampler,
    AuthorsUNet,
    BaseGenerator,
    GeneratorOutput,
    GumbelSampler,
    IndependentPixelSampler,
    LatentUNet,
    RefinementUNet,
    TunedSampler,
)
from .gumbel import SharedGumbel
from .losses import (
    AdversarialLoss,
    BaseLoss,
    CalibrationLoss,
    ELBOLoss,
    EnergyLoss,
    LabelCrossEntropy,
    MatchingLoss,
    SampleBatch,
    SampleCrossEntropy,
)
from .noise import BaseNoise, NormalNoise, SobolNoise
from .segmentors import CARSegmentor, StochasticSegmentor, TrainBatch

__all__ = [
    'AdversarialLoss',
    'ArgmaxSampler',
    'AuthorsConvCalibration',
    'AuthorsDiscriminator',
    'AuthorsUNet',
    'BaseCalibration',
    'BaseDiscriminator',
    'BaseGenerator',
    'BaseLoss',
    'BaseNoise',
    'BlackBox',
    'CARHead',
    'CARSegmentor',
    'CachedBlackBox',
    'CalibrationLoss',
    'ConvCalibration',
    'DCGANDiscriminator',
    'ELBOLoss',
    'EnergyLoss',
    'FlippedDecision',
    'GeneratorOutput',
    'GumbelSampler',
    'IndependentPixelSampler',
    'KnownDistribution',
    'LabelCrossEntropy',
    'LatentUNet',
    'MMSegCalibration',
    'MatchingLoss',
    'NormalNoise',
    'PatchDiscriminator',
    'ProbabilityScaling',
    'RefinementUNet',
    'SampleBatch',
    'SampleCrossEntropy',
    'SegNetCalibration',
    'SharedGumbel',
    'SobolNoise',
    'StochasticDataPreProcessor',
    'StochasticSegmentor',
    'TrainBatch',
    'TunedSampler',
    'UniformCalibration',
    'VGGCalibration',
]
