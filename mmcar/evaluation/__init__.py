"""Scores of stochastic segmentation: functions, and metrics over them.

The functions need torch and SciPy alone, metrics MMSegmentation.
"""

from importlib.util import find_spec

from . import functional
from .functional import *  # noqa: F403

__all__ = [*functional.__all__]

if find_spec('mmseg') is not None:
    from . import metrics
    from .metrics import *  # noqa: F403

    __all__ += metrics.__all__
