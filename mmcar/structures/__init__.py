"""What is known of an image: labels, class flips, how it was resized."""

from .class_flips import (
    ClassFlip,
    ClassFlips,
    add_twins,
    check_predicted,
    class_flips_of,
)
from .geometry import is_resized, is_unchanged, to_input, to_original
from .labels import label_distribution
from .sample_keys import (
    KeyOwners,
    refuse_shared_keys,
    sample_key,
    sample_key_below,
)

__all__ = [
    'ClassFlip',
    'ClassFlips',
    'KeyOwners',
    'add_twins',
    'check_predicted',
    'class_flips_of',
    'is_resized',
    'is_unchanged',
    'label_distribution',
    'refuse_shared_keys',
    'sample_key',
    'sample_key_below',
    'to_input',
    'to_original',
]
