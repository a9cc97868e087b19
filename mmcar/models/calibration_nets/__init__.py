"""Calibration nets F: image (and the black box's output) -> class logits."""

from .authors import AuthorsConvCalibration, VGGCalibration
from .base import BaseCalibration
from .center import CenterCalibration
from .conv import ConvCalibration
from .fixed import FlippedDecision, KnownDistribution, UniformCalibration
from .mmseg_net import MMSegCalibration
from .scaling import ProbabilityScaling
from .segnet import SegNetCalibration

__all__ = [
    'AuthorsConvCalibration',
    'BaseCalibration',
    'CenterCalibration',
    'ConvCalibration',
    'FlippedDecision',
    'KnownDistribution',
    'MMSegCalibration',
    'ProbabilityScaling',
    'SegNetCalibration',
    'UniformCalibration',
    'VGGCalibration',
]
