"""A made-up CT crop around a nodule whose outlines are real."""

from collections.abc import Sequence

import cv2
import numpy as np
from lidc_outlines import Nodule


def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    """Smooth an image (H, W) by a Gaussian."""
    return cv2.GaussianBlur(image.astype(np.float32), (0, 0), sigma)


def _texture(rng: np.random.Generator, size: int, sigma: float) -> np.ndarray:
    """Smooth noise (size, size) of unit variance."""
    noise = blur(rng.standard_normal((size, size)), sigma)
    return noise / noise.std()


def _vessels(rng: np.random.Generator, size: int) -> np.ndarray:
    """Bright dots and lines, which resemble small nodules, in [0, 1]."""
    canvas = np.zeros((size, size), np.float32)
    for _ in range(rng.integers(4, 10)):
        start = rng.uniform(0, size, 2)
        end = start + rng.normal(0, size / 6, 2) * (rng.random() < 0.6)
        cv2.line(
            canvas,
            [int(v) for v in start],
            [int(v) for v in end],
            float(rng.uniform(0.3, 1)),
            int(rng.integers(1, 5)),
            cv2.LINE_AA,
        )
    return blur(canvas, 1)


def lung(rng: np.random.Generator, size: int) -> np.ndarray:
    """Lung tissue with vessels (size, size), about 0.2 of white."""
    return (
        0.2
        + 0.04 * _texture(rng, size, 8)
        + 0.03 * _texture(rng, size, 2)
        + 0.35 * _vessels(rng, size)
    )


def simulate_crop(
    nodule: Nodule, masks: np.ndarray, seed: Sequence[int]
) -> np.ndarray:
    """Draw a grey image that fits the annotators' masks on one slice.

    The nodule in the image is *one* shape: the annotators' agreement, smoothed
    and cut at a random level, then blurred. The agreement itself is not
    visible. Subtle or ground-glass nodules, by the annotators' own ratings,
    are faint, those with a poor margin are blurred, and both are noisier
    where few annotators marked anything; texture, vessels and scanner noise
    lie over it.

    Args:
        nodule: The nodule, for its ratings.
        masks: Annotators' masks on the slice, (4, size, size) of 0 and 1.
        seed: Of all randomness.

    Returns:
        Image (size, size) uint8.
    """
    rng = np.random.default_rng(seed)
    size = masks.shape[-1]
    subtlety, margin, texture = (
        np.mean([getattr(r, name) for r in nodule.readings])
        for name in ('subtlety', 'margin', 'texture')
    )
    agreement = blur(masks.mean(0, dtype=np.float32), 1.5)
    level = rng.uniform(0.3, 0.7) * agreement.max()
    shape = (agreement > level).astype(np.float32)
    edge = (0.6 + 0.4 * (5 - margin)) * rng.uniform(0.7, 1.4)
    share = masks.any((1, 2)).mean()
    contrast = 0.1 + 0.05 * subtlety + 0.03 * texture + 0.15 * share
    contrast *= rng.uniform(0.7, 1.3)
    image = lung(rng, size)
    body = contrast * (1 + 0.15 * _texture(rng, size, 3))
    image = np.maximum(image, image + body * blur(shape, edge))
    image += 0.03 * rng.standard_normal((size, size))
    return (image.clip(0, 1) * 255).astype(np.uint8)
