"""Scores of stochastic segmentation: functions, and metrics over them.

The functions need torch and SciPy alone, metrics MMSegmentation.
"""

from importlib.util import find_spec

from .functional import *  # noqa: F403

if find_spec('mmseg') is not None:
    from .metrics.base import ImageMetric, SampleMetric
    from .metrics.calibration import CalibrationMetric, FlipMetric
    from .metrics.iou import BlackBoxIoUMetric, FiniteIoUMetric
    from .metrics.names import metric_configs
    from .metrics.samples import (
        CRPSMetric,
        FloodMetric,
        GEDMetric,
        HMIoUMetric,
    )
