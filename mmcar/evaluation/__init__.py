"""Scores of stochastic segmentation: functions, and metrics over them."""

from .calibration_metric import CalibrationMetric
from .flip_metric import FlipMetric
from .functional import (
    CalibrationBins,
    EnergyTerms,
    ScoreSums,
    best_match_iou,
    brier_score,
    decision_iou,
    energy_distance_terms,
    entropy,
    flip_energy_distance,
    flip_energy_terms,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
    generalized_energy_distance,
    hungarian_matched_iou,
    negative_log_likelihood,
    pairwise_iou,
    sample_diversity,
    score_sums,
)
from .metrics import GEDMetric, HMIoUMetric
from .names import metric_configs

__all__ = [
    'CalibrationBins',
    'CalibrationMetric',
    'EnergyTerms',
    'FlipMetric',
    'GEDMetric',
    'HMIoUMetric',
    'ScoreSums',
    'best_match_iou',
    'brier_score',
    'decision_iou',
    'energy_distance_terms',
    'entropy',
    'flip_energy_distance',
    'flip_energy_terms',
    'flip_observations',
    'flip_offsets',
    'flip_probability_sums',
    'generalized_energy_distance',
    'hungarian_matched_iou',
    'metric_configs',
    'negative_log_likelihood',
    'pairwise_iou',
    'sample_diversity',
    'score_sums',
]
