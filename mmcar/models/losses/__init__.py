"""Losses of F (pixels), of G (samples) and of D."""

from .adversarial import AdversarialLoss
from .base import BaseLoss, SampleBatch, SampleLosses
from .calibration import DIVERGENCES, CalibrationLoss
from .likelihood import ELBOLoss, SampleCrossEntropy
from .pixel import LabelCrossEntropy, PixelLosses
from .soft_iou import EnergyLoss, MatchingLoss

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
