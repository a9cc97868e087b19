"""Generators: image, F's log-probabilities and noise -> label maps."""

from .authors_unet import AuthorsUNet
from .base import BaseGenerator
from .field_samplers import LearntFieldSampler, RegionSampler, WeightedSampler
from .refinement_unet import LatentUNet, RefinementUNet
from .samplers import (
    ArgmaxSampler,
    GumbelSampler,
    IndependentPixelSampler,
    RankedGenerator,
    TunedSampler,
)
