"""Pure functions on label maps and probabilities: tensors in, tensors out."""

from ...sampling import support_points
from ...structures.floods import class_shares, floods, max_class_area
from .agreement import FieldFit, fit_field
from .bounds import Bounds, bounds
from .calibration import CalibrationBins, calibration, class_area_sums, entropy
from .class_flips import flip_observations, flip_offsets, flip_probability_sums
from .contour_boxplot import ContourBoxplot, band_depth, contour_boxplot
from .ged import EnergyTerms, ged, ged_terms
from .hm_iou import best_match_iou, hm_iou
from .hypotheses import (
    Change,
    FlipState,
    Hypothesis,
    describe_changes,
    find_flip_states,
    hypotheses,
)
from .iou import Comparison, PairOptions, pairwise_iou

__all__ = [
    'Bounds',
    'CalibrationBins',
    'Change',
    'Comparison',
    'ContourBoxplot',
    'EnergyTerms',
    'FieldFit',
    'FlipState',
    'Hypothesis',
    'PairOptions',
    'band_depth',
    'best_match_iou',
    'bounds',
    'calibration',
    'class_area_sums',
    'class_shares',
    'contour_boxplot',
    'describe_changes',
    'entropy',
    'find_flip_states',
    'fit_field',
    'flip_observations',
    'flip_offsets',
    'flip_probability_sums',
    'floods',
    'ged',
    'ged_terms',
    'hm_iou',
    'hypotheses',
    'max_class_area',
    'pairwise_iou',
    'support_points',
]
