"""Label maps over the image they belong to."""

from collections.abc import Sequence

import cv2
import numpy as np

from ..structures.colours import extended
from ..utils.errors import UserError
from .sample_grid import colour_labels

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
MIN_SIDE = 384  # smaller images are enlarged, so that outlines are seen


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
    return extended(DISTINCT, num_classes)


def enlarge(picture: np.ndarray, factor: int) -> np.ndarray:
    """Repeat pixels of (H, W) or (H, W, 3)."""
    return picture.repeat(factor, 0).repeat(factor, 1)


def display_factor(shape: Sequence[int]) -> int:
    """How much to enlarge an image of a height and width to be seen well."""
    return max(1, round(MIN_SIDE / max(shape[:2])))


def class_borders(label_map: np.ndarray, width: int = 1) -> np.ndarray:
    """Pixels (H, W) bool on the border of two classes."""
    labels = label_map.astype(np.float32)
    kernel = np.ones((2 * width + 1, 2 * width + 1), np.uint8)
    return cv2.dilate(labels, kernel) != cv2.erode(labels, kernel)


def overlay_labels(
    image: np.ndarray,
    label_map: np.ndarray,
    palette: np.ndarray,
    opacity: float = 0.45,
) -> np.ndarray:
    """Tint an image by class, with a line where classes meet.

    Of two classes, only the second is tinted: the first is the background.

    Args:
        image: RGB (H, W, 3) uint8.
        label_map: Class ids (H, W).
        palette: Colours (K, 3) uint8.
        opacity: Of the tint, from 0 to 1.

    Returns:
        RGB uint8; small images come out enlarged by `display_factor`.
    """
    if image.shape[:2] != label_map.shape:
        raise UserError(
            f'label map of {label_map.shape} pixels on an image of '
            f'{image.shape[:2]}: expected one size'
        )
    factor = display_factor(image.shape)
    labels = enlarge(label_map, factor)
    size = (labels.shape[1], labels.shape[0])
    picture = image
    if factor > 1:
        picture = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    colours = colour_labels(labels, palette).astype(np.float32)
    tint = np.full((*labels.shape, 1), opacity, np.float32)
    if len(palette) == 2:
        tint[labels == 0] = 0
        colours[:] = palette[1]
    tint[class_borders(labels)] = 1
    blend = (1 - tint) * picture + tint * colours
    return blend.round().clip(0, 255).astype(np.uint8)
