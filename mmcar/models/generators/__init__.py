"""Generators: image, F's log-probabilities and noise -> label maps."""

from .authors_unet import AuthorsUNet
from .base import BaseGenerator, GeneratorOutput
from .baselines import ArgmaxSampler, IndependentPixelSampler
from .gumbel_sampler import GumbelSampler
from .learnt_field_sampler import LearntFieldSampler
from .ranked_generator import RankedGenerator
from .refinement_unet import LatentUNet, RefinementUNet
from .region_sampler import RegionSampler
from .tuned_sampler import TunedSampler
from .weighted_sampler import WeightedSampler
