"""What the labels of an image say: annotators, class flips."""

from .class_flips import ClassFlip, ClassFlips, add_twins, class_flips_of
from .labels import label_distribution, sample_key, sample_key_below

__all__ = [
    'ClassFlip',
    'ClassFlips',
    'add_twins',
    'class_flips_of',
    'label_distribution',
    'sample_key',
    'sample_key_below',
]
