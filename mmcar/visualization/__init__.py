"""Figures: sample grids, reliability diagrams, training curves."""

from .hooks import DrawSamplesHook, SaveSamplesHook
from .reliability import draw_reliability
from .sample_grid import SampleRow, draw_sample_grid
from .training_curves import draw_curves, find_logs, read_curves

__all__ = [
    'DrawSamplesHook',
    'SampleRow',
    'SaveSamplesHook',
    'draw_curves',
    'draw_reliability',
    'draw_sample_grid',
    'find_logs',
    'read_curves',
]
