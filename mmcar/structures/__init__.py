"""What is known of an image: labels, class flips, how it was resized."""

from .class_flips import (
    ClassFlip,
    ClassFlips,
    add_twins,
    check_predicted,
    class_flips_of,
)
from .floods import floods, max_class_area
from .geometry import (
    is_resized,
    padding_of,
    to_input,
    to_original,
    without_padding,
)
from .labels import label_distribution
from .sample_keys import (
    KeyOwners,
    noise_key,
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
    'floods',
    'is_resized',
    'label_distribution',
    'max_class_area',
    'noise_key',
    'padding_of',
    'refuse_shared_keys',
    'sample_key',
    'sample_key_below',
    'to_input',
    'to_original',
    'without_padding',
]
