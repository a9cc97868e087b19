"""Pure functions on label maps and probabilities: tensors in, tensors out."""

from ...sampling import support_points
from ...structures.labels import class_shares, floods, max_class_area
from . import promises
from .agreement import FieldFit, fit_field
from .bounds import Bounds, bounds
from .calibration import (
    CalibrationBins,
    calibration,
    class_area_sums,
    entropy,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)
from .contour_boxplot import ContourBoxplot, band_depth, contour_boxplot
from .distances import EnergyTerms, best_match_iou, ged, ged_terms, hm_iou
from .hypotheses import (
    Change,
    FlipState,
    Hypothesis,
    describe_changes,
    find_flip_states,
    hypotheses,
)
from .iou import Comparison, PairOptions, pairwise_iou
