"""What is known of an image: labels, class flips, how it was resized."""

from .geometry import (
    is_resized,
    padding_of,
    to_input,
    to_original,
    without_padding,
)
from .labels import (
    ClassFlip,
    ClassFlips,
    add_twins,
    check_predicted,
    class_flips_of,
    floods,
    label_distribution,
    max_class_area,
)
from .sample_keys import (
    KeyOwners,
    noise_key,
    refuse_shared_keys,
    sample_key,
    sample_key_below,
)
