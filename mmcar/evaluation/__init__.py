"""Scores of stochastic segmentation: functions, and metrics over them."""

from . import functional, metrics
from .functional import *  # noqa: F403
from .metrics import *  # noqa: F403

__all__ = [*functional.__all__, *metrics.__all__]
