"""For users in Python: inference, report, calibration, config checks."""

from ..inference.inferencer import StochasticInferencer
from .report import build_report

__all__ = ['StochasticInferencer', 'build_report']
