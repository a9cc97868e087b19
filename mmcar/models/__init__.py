"""Networks and losses; importing registers them."""

from .baselines import (
    ArgmaxSampler,
    FlippedDecision,
    IndependentPixelSampler,
)
from .black_box import BlackBox, CachedBlackBox
from .calibration_nets import (
    ConvCalibration,
    MMSegCalibration,
    SegNetCalibration,
)
from .car_head import CARHead
from .car_segmentor import CARSegmentor
from .discriminators import DCGANDiscriminator, PatchDiscriminator
from .energy_loss import EnergyLoss
from .generators import BaseGenerator, GeneratorOutput, GumbelSampler
from .gumbel import SharedGumbel
from .known_distribution import KnownDistribution
from .latent_unet import LatentUNet
from .likelihood_losses import ELBOLoss, LabelCrossEntropy, SampleCrossEntropy
from .losses import AdversarialLoss, CalibrationLoss
from .matching_loss import MatchingLoss
from .noise import NormalNoise, SobolNoise
from .refinement_unet import RefinementUNet
from .tuned_sampler import TunedSampler

__all__ = [
    'AdversarialLoss',
    'ArgmaxSampler',
    'BaseGenerator',
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
    'RefinementUNet',
    'SampleCrossEntropy',
    'SegNetCalibration',
    'SharedGumbel',
    'SobolNoise',
    'TunedSampler',
]
