"""Networks and losses; importing registers them."""

from .energy_loss import EnergyLoss
from .generators import BaseGenerator, GeneratorOutput, GumbelSampler
from .gumbel import SharedGumbel
from .likelihood_losses import ELBOLoss, LabelCrossEntropy, SampleCrossEntropy
from .losses import AdversarialLoss, CalibrationLoss
from .noise import NormalNoise, SobolNoise
from .refinement_unet import LatentUNet, RefinementUNet

__all__ = [
    'AdversarialLoss',
    'BaseGenerator',
    'CalibrationLoss',
    'ELBOLoss',
    'EnergyLoss',
    'GeneratorOutput',
    'GumbelSampler',
    'LabelCrossEntropy',
    'LatentUNet',
    'NormalNoise',
    'RefinementUNet',
    'SampleCrossEntropy',
    'SharedGumbel',
    'SobolNoise',
]
