"""1D regression: what the calibration loss does, in two minutes."""

from .data import BimodalData, Run, grid
from .experiment import run_experiment
from .training import Settings, Trained, Trainer

__all__ = [
    'BimodalData',
    'Run',
    'Settings',
    'Trained',
    'Trainer',
    'grid',
    'run_experiment',
]
