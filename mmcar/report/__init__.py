"""Figures: samples, hypotheses, uncertainty, reliability, training curves."""

from .figures import (
    SampleRow,
    changing,
    draw_curves,
    draw_reliability,
    draw_sample_grid,
    find_logs,
    read_curves,
)
from .hooks import FiguresHook, SaveSamplesHook
from .image_figures import (
    draw_contour_boxplot,
    draw_hypotheses,
    draw_promises,
    draw_uncertainty,
)
from .pictures import overlay_labels
