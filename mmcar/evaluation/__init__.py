"""Scores of stochastic segmentation: functions, and metrics over them.

The functions need torch and SciPy alone, metrics MMSegmentation.
"""

from importlib.util import find_spec

from .functional import *  # noqa: F403

if find_spec('mmseg') is not None:
    from .metrics import *  # noqa: F403
