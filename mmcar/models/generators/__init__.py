"""Generators: image, F's log-probabilities and noise -> label maps."""

from .authors_unet import AuthorsUNet
from .base import BaseGenerator, GeneratorOutput
from .baselines import ArgmaxSampler, IndependentPixelSampler
from .gumbel_sampler import GumbelSampler
from .latent_unet import LatentUNet
from .refinement_unet import RefinementUNet
from .tuned_sampler import TunedSampler

__all__ = [
    'ArgmaxSampler',
    'AuthorsUNet',
    'BaseGenerator',
    'GeneratorOutput',
    'GumbelSampler',
    'IndependentPixelSampler',
    'LatentUNet',
    'RefinementUNet',
    'TunedSampler',
]
