"""Calibration nets F: image (and the black box's output) -> class logits."""

from .base import BaseCalibration
from .conv import ConvCalibration
from .flipped_decision import FlippedDecision
from .known_distribution import KnownDistribution
from .mmseg_net import MMSegCalibration
from .scaling import ProbabilityScaling
from .segnet import SegNetCalibration

__all__ = [
    'BaseCalibration',
    'ConvCalibration',
    'FlippedDecision',
    'KnownDistribution',
    'MMSegCalibration',
    'ProbabilityScaling',
    'SegNetCalibration',
]
