"""Networks and losses; importing registers them."""

from .energy_loss import EnergyLoss
from .likelihood_losses import ELBOLoss, LabelCrossEntropy, SampleCrossEntropy
from .losses import AdversarialLoss, CalibrationLoss

__all__ = [
    'AdversarialLoss',
    'CalibrationLoss',
    'ELBOLoss',
    'EnergyLoss',
    'LabelCrossEntropy',
    'SampleCrossEntropy',
]
