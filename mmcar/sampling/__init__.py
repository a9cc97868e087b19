"""Coherent samples of pixelwise probabilities, in pure torch."""

from .drawing import sample_labels
from .gumbel import (
    GroupedGumbel,
    GumbelSettings,
    SharedGumbel,
    WeightedField,
    build_gumbel,
    check_floor,
    drop_unlikely,
    unit_norm,
)
from .noise import BaseNoise, NormalNoise, SobolNoise, content_key
from .support_points import representative, support_points
