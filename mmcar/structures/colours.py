"""Colours of classes that are told apart, and that of unlabelled pixels."""

from collections.abc import Sequence

import numpy as np

# A grey that is far from the colours of all our data sets.
UNLABELLED = (208, 208, 208)
COARSE, FINE = 51, 17  # steps of each channel: 216 colours, or 4096
MANY = 150
# Okabe and Ito's colours, which colour-blind people can tell apart.
DISTINCT = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
)
GROUND = (60, 60, 60)


def distant_colours(
    palette: Sequence[Sequence[int]], number: int
) -> list[list[int]]:
    """Colours that lie far from those of a palette and from each other.

    Args:
        palette: RGB colours in use. Black, white and a middle grey are, too.
        number: How many to find, at most 4000.
    """
    steps = np.arange(0, 256, COARSE if number <= MANY else FINE)
    candidates = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    taken = np.array([*palette, *([v] * 3 for v in (0, 128, 255))])

    def distance(colours: np.ndarray) -> np.ndarray:
        return np.square(candidates[:, None] - colours).sum(-1).min(1)

    nearest, found = distance(taken), []
    for _ in range(number):
        best = candidates[nearest.argmax()]
        nearest = np.minimum(nearest, distance(best[None]))
        found.append(best.tolist())
    return found


def overlay_palette(
    num_classes: int, palette: Sequence[Sequence[int]] | None = None
) -> np.ndarray:
    """Distinct colours (K, 3) uint8 that are seen on an image.

    Args:
        num_classes: Number of classes K.
        palette: The data set's own colours; used if there are K of them,
            except black and white for two classes.
    """
    if palette is not None and len(palette) == num_classes > 2:
        return np.array(palette, np.uint8)
    if num_classes <= 2:
        return np.array([GROUND, DISTINCT[0]], np.uint8)
    more = max(num_classes - len(DISTINCT), 0)
    others = distant_colours([*DISTINCT, UNLABELLED], more)
    return np.array([*DISTINCT[:num_classes], *others], np.uint8)


def visible(image: np.ndarray) -> np.ndarray:
    """An image (H, W, C) of any values as one to be shown.

    Args:
        image: RGB if C = 3; of any other number the first channel is shown.

    Returns:
        (H, W, 3) uint8. Values outside the range of 8 bits are stretched.
    """
    rgb = image if image.shape[2] == 3 else image[..., [0, 0, 0]]
    low, high = float(rgb.min()), float(rgb.max())
    if low < 0 or high <= 1 or high > 255:
        rgb = 255 * (rgb.astype(np.float32) - low) / max(high - low, 1e-6)
    return np.ascontiguousarray(rgb.clip(0, 255).astype(np.uint8))
