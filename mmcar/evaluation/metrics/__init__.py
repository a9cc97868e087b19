"""Metrics for the evaluators of a config, and their names for --eval."""

from .base import ImageMetric, SampleMetric
from .calibration import CalibrationMetric
from .class_flips import FlipMetric
from .floods import FloodMetric
from .ged import GEDMetric
from .hm_iou import HMIoUMetric
from .iou import BlackBoxIoUMetric, FiniteIoUMetric
from .names import metric_configs

__all__ = [
    'BlackBoxIoUMetric',
    'CalibrationMetric',
    'FiniteIoUMetric',
    'FlipMetric',
    'FloodMetric',
    'GEDMetric',
    'HMIoUMetric',
    'ImageMetric',
    'SampleMetric',
    'metric_configs',
]
