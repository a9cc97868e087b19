"""Pure functions on label maps and probabilities: tensors in, tensors out."""

from ...sampling import support_points
from ...structures.floods import class_shares, floods, max_class_area
from .agreement import FieldFit, fit_field
from .calibration import (
    CalibrationBins,
    ScoreSums,
    brier_score,
    class_area_sums,
    entropy,
    negative_log_likelihood,
    score_sums,
)
from .class_flips import (
    flip_energy_distance,
    flip_energy_terms,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)
from .contour_boxplot import ContourBoxplot, band_depth, contour_boxplot
from .ged import (
    EnergyTerms,
    energy_distance_terms,
    generalized_energy_distance,
)
from .hm_iou import (
    best_match_iou,
    decision_iou,
    hungarian_matched_iou,
    sample_diversity,
)
from .hypotheses import (
    Change,
    FlipState,
    Hypothesis,
    describe_changes,
    find_flip_states,
    find_hypotheses,
)
from .iou import PairOptions, pairwise_iou

__all__ = [
    'CalibrationBins',
    'Change',
    'ContourBoxplot',
    'EnergyTerms',
    'FieldFit',
    'FlipState',
    'Hypothesis',
    'PairOptions',
    'ScoreSums',
    'band_depth',
    'best_match_iou',
    'brier_score',
    'class_area_sums',
    'class_shares',
    'contour_boxplot',
    'decision_iou',
    'describe_changes',
    'energy_distance_terms',
    'entropy',
    'find_flip_states',
    'find_hypotheses',
    'fit_field',
    'flip_energy_distance',
    'flip_energy_terms',
    'flip_observations',
    'flip_offsets',
    'flip_probability_sums',
    'floods',
    'generalized_energy_distance',
    'hungarian_matched_iou',
    'max_class_area',
    'negative_log_likelihood',
    'pairwise_iou',
    'sample_diversity',
    'score_sums',
    'support_points',
]
