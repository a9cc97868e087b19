"""A made-up image of a kidney with masses whose outlines are real."""

import cv2
import numpy as np

# Brightness of kidney, tumor and cyst over the background, and its variation.
CONTRAST = {1: (0.35, 0.05), 2: (0.20, 0.08), 3: (0.08, 0.05)}
PAINTED = (1, 3, 2)  # as KiTS paints its annotations


def _blur(image: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(image.astype(np.float32), (0, 0), sigma)


def _texture(
    rng: np.random.Generator, size: tuple, sigma: float
) -> np.ndarray:
    noise = _blur(rng.standard_normal(size), sigma)
    return noise / noise.std()


def simulate_kidney(
    labels: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw a grey image that fits the annotations of one slice.

    Args:
        labels: Annotations (A, H, W): 0 background, 1 kidney, 2 tumor, 3
            cyst.
        rng: Source of all randomness.

    Returns:
        Image (H, W) uint8.
    """
    size = labels.shape[1:]
    image = (
        0.25 + 0.05 * _texture(rng, size, 10) + 0.03 * _texture(rng, size, 3)
    )
    for k in PAINTED:
        agreement = _blur((labels == k).mean(0), 1.5)
        if not agreement.max() > 0:
            continue
        level = rng.uniform(0.3, 0.7) * agreement.max()
        shape = _blur(agreement > level, rng.uniform(0.8, 2.0))
        mean, sd = CONTRAST[k]
        body = 0.25 + rng.normal(mean, sd) + 0.03 * _texture(rng, size, 2)
        image = image * (1 - shape) + body * shape
    image += 0.04 * rng.standard_normal(size)
    return (image.clip(0, 1) * 255).astype(np.uint8)
