"""Losses of F (pixels), of G (samples) and of D."""

from .base import BaseLoss, SampleBatch, SampleLosses
from .pixel_losses import LabelCrossEntropy, PixelLosses
from .sample_losses import (
    DIVERGENCES,
    AdversarialLoss,
    CalibrationLoss,
    ELBOLoss,
    SampleCrossEntropy,
    pixel_divergence,
)
from .soft_iou import EnergyLoss, MatchingLoss
