"""Figures: samples, hypotheses, uncertainty, reliability, training curves.

Hooks need MMSegmentation, what draws arrays does not.
"""

from importlib.util import find_spec

from .figures import (
    SampleRow,
    draw_curves,
    draw_reliability,
    draw_sample_grid,
    find_logs,
    read_curves,
)
from .image_figures import (
    draw_contour_boxplot,
    draw_hypotheses,
    draw_promises,
    draw_uncertainty,
)

if find_spec('mmseg') is not None:
    from .hooks import FiguresHook, SaveSamplesHook
