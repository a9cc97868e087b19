"""Discriminators: image and label map -> realness logits."""

from .authors import AuthorsDiscriminator
from .base import BaseDiscriminator
from .dcgan import DCGANDiscriminator
from .patch import PatchDiscriminator

__all__ = [
    'AuthorsDiscriminator',
    'BaseDiscriminator',
    'DCGANDiscriminator',
    'PatchDiscriminator',
]
