"""Discriminators: image and label map -> realness logits."""

from .authors import AuthorsDiscriminator
from .dcgan import (
    BaseDiscriminator,
    DCGANDiscriminator,
    PatchDiscriminator,
)

__all__ = [
    'AuthorsDiscriminator',
    'BaseDiscriminator',
    'DCGANDiscriminator',
    'PatchDiscriminator',
]
