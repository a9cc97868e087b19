"""Metrics for the evaluators of a config, and their names for --eval."""

from .black_box_metric import BlackBoxIoUMetric
from .calibration_metric import CalibrationMetric
from .class_flip_metric import FlipMetric
from .flood_metric import FloodMetric
from .ged_metric import GEDMetric
from .hm_iou_metric import HMIoUMetric
from .image_metric import ImageMetric
from .iou_metric import FiniteIoUMetric
from .names import metric_configs
from .sample_metric import SampleMetric

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
