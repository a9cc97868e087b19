"""Calibration nets F: image (and the black box's output) -> class logits."""

from .authors import AuthorsConvCalibration, VGGCalibration
from .base import BaseCalibration
from .conv_nets import ConvCalibration, SegNetCalibration
from .fixed import FlippedDecision, KnownDistribution, UniformCalibration
from .mmseg_net import CenterCalibration, MMSegCalibration
from .scaling import ProbabilityScaling
