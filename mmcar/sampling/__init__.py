"""Coherent samples of pixelwise probabilities, in pure torch."""

from .drawing import sample_labels
from .groups import GroupedGumbel, build_gumbel
from .gumbel import SharedGumbel, check_floor, drop_unlikely
from .noise import BaseNoise, NormalNoise, SobolNoise, content_key
from .support_points import representative, support_points
from .weighted_field import WeightedField, unit_norm

__all__ = [
    'BaseNoise',
    'GroupedGumbel',
    'NormalNoise',
    'SharedGumbel',
    'SobolNoise',
    'WeightedField',
    'build_gumbel',
    'check_floor',
    'content_key',
    'drop_unlikely',
    'representative',
    'sample_labels',
    'support_points',
    'unit_norm',
]
