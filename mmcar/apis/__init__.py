"""For users in Python: inference, calibration, checks of a config."""

from .inferencer import StochasticInferencer

__all__ = ['StochasticInferencer']
