"""Trained models put to use."""

from .inferencer import StochasticInferencer

__all__ = ['StochasticInferencer']
