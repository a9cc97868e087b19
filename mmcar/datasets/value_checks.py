"""Values of images that are readable, and yet cannot be right."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .image_files import DEEP_STEPS
from .listing import Problem

# Share of values at an image's maximum from which it counts as clipped.
SATURATED = 0.5
# Factor between the span of an image and the usual one that is odd.
ODD_SPAN = 16


class ImageValues(NamedTuple):
    """What the values of an image are like.

    Attributes:
        path: The file.
        dtype: Type of the values, such as 'uint16'.
        channels: Their number.
        low: Smallest value.
        high: Largest value.
        at_high: Share of values that are the largest.
    """

    path: str
    dtype: str
    channels: int
    low: float
    high: float
    at_high: float


def measure(path: str, image: np.ndarray) -> ImageValues:
    """Take the measures of an image (H, W) or (H, W, C)."""
    high = image.max()
    return ImageValues(
        path=path,
        dtype=image.dtype.name,
        channels=1 if image.ndim == 2 else image.shape[2],
        low=float(image.min()),
        high=float(high),
        at_high=float((image == high).mean()),
    )


def find_bad_values(values: ImageValues) -> list[Problem]:
    """Flag an image that shows nothing, or was clipped."""
    if values.low == values.high:
        what = f'all values are {values.high:g}; expected an image'
    elif values.at_high > SATURATED:
        what = (
            f'saturated: {values.at_high:.0%} of the values are the largest, '
            f'{values.high:g}; expected an image that was not clipped'
        )
    else:
        return []
    return [(values.path, what)]


def find_odd_values(images: Sequence[ImageValues]) -> list[Problem]:
    """Flag images that differ from the others of their split.

    Args:
        images: Of one split.

    Returns:
        The problems: another type than most images; for images of more than
        8 bits also a much smaller or larger span of values (of 8-bit images,
        dark ones are common).
    """
    if not images:
        return []
    (usual, _), *_ = Counter(v.dtype for v in images).most_common()
    spans = {
        v.path: v.high - v.low
        for v in images
        if v.dtype == usual != 'uint8' and v.low < v.high
    }
    middle = float(np.median([*spans.values()] or [0]))
    problems = []
    for v in images:
        span = spans.get(v.path, middle)
        if v.dtype != usual:
            what = f'values of type {v.dtype}, where most have {usual}'
            problems.append((v.path, f'{what}; expected one type'))
        elif not middle / ODD_SPAN <= span <= middle * ODD_SPAN:
            what = f'values from {v.low:g} to {v.high:g}, where others span'
            what = f'{what} about {middle:g}; expected a similar range'
            problems.append((v.path, what))
    return problems


def summarise(images: Sequence[ImageValues]) -> str:
    """Types and range of the images of a split, in a line."""
    if not images:
        return 'no readable images'
    kinds = Counter((v.dtype, v.channels) for v in images).most_common()
    low, high = min(v.low for v in images), max(v.high for v in images)
    text = ', '.join(f'{n} of {c} x {dtype}' for (dtype, c), n in kinds)
    text = f'channels x type: {text}; values from {low:g} to {high:g}'
    if any(v.dtype != 'uint8' for v in images):
        text += f'. Not 8 bits: {DEEP_STEPS}'
    return text
