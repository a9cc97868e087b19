"""Training in phases."""

from .alternating_loop import AlternatingTrainLoop
from .schedule import Schedule

__all__ = ['AlternatingTrainLoop', 'Schedule']
