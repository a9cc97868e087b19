"""Training in phases."""

from .alternating_loop import AlternatingTrainLoop
from .remaining_time import RemainingTime
from .schedule import Schedule

__all__ = ['AlternatingTrainLoop', 'RemainingTime', 'Schedule']
