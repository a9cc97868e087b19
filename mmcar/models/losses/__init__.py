"""Losses of F (pixels), of G (samples) and of D."""

from .adversarial import AdversarialLoss
from .base import BaseLoss, SampleBatch, SampleLosses
from .calibration import DIVERGENCES, CalibrationLoss
from .energy import EnergyLoss
from .likelihood import ELBOLoss, SampleCrossEntropy
from .matching import MatchingLoss
from .pixel import LabelCrossEntropy, PixelLosses

__all__ = [
    'DIVERGENCES',
    'AdversarialLoss',
    'BaseLoss',
    'CalibrationLoss',
    'ELBOLoss',
    'EnergyLoss',
    'LabelCrossEntropy',
    'MatchingLoss',
    'PixelLosses',
    'SampleBatch',
    'SampleCrossEntropy',
    'SampleLosses',
]
