"""Figures: samples, hypotheses, uncertainty, reliability, training curves."""

from .contour_boxplot import draw_contour_boxplot
from .hooks import FiguresHook, SaveSamplesHook
from .hypotheses import draw_hypotheses
from .overlays import overlay_labels, overlay_palette
from .reliability import draw_reliability
from .sample_grid import SampleRow, draw_sample_grid
from .training_curves import changing, draw_curves, find_logs, read_curves
from .uncertainty import draw_uncertainty
