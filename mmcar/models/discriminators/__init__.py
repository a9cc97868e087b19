"""Discriminators: image and label map -> realness logits."""

from .base import BaseDiscriminator
from .dcgan import DCGANDiscriminator
from .patch import PatchDiscriminator

__all__ = ['BaseDiscriminator', 'DCGANDiscriminator', 'PatchDiscriminator']
