"""Label maps and images as pictures, and pictures and figures as files."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from ..structures.colours import UNLABELLED, overlay_palette
from ..utils.errors import UserError
from ..utils.files import write_file

IGNORED = 255
OPACITY = 0.45  # of tints
MIN_SIDE = 384  # smaller images are enlarged, so that outlines are seen


def dataset_palette(metainfo: Mapping | None, num_classes: int) -> np.ndarray:
    """Colours (K, 3) uint8 of a data set, else distinct ones.

    Args:
        metainfo: Of the data set; its ``palette`` counts if it has a colour
            for each class.
        num_classes: Number of classes K that are drawn; where no colours are
            known, two are black and white.
    """
    palette = (metainfo or {}).get('palette')
    if palette is not None and len(palette) == num_classes:
        return np.array(palette, np.uint8)
    if num_classes <= 2:
        return np.array([[0, 0, 0], [255, 255, 255]], np.uint8)
    return overlay_palette(num_classes)


def colour_labels(label_map: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Turn class ids (H, W) into colours (H, W, 3) uint8; ignored is grey."""
    table = np.empty((max(256, len(palette)), 3), np.uint8)
    table[:] = UNLABELLED
    table[: len(palette)] = palette
    table[IGNORED] = UNLABELLED
    return table[label_map]


def colour_mean(probs: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Blend class colours by probabilities (K, H, W) -> (H, W, 3) uint8."""
    blend = np.tensordot(probs, palette[: len(probs)], axes=(0, 0))
    return blend.round().clip(0, 255).astype(np.uint8)


def display_factor(shape: Sequence[int]) -> int:
    """How much to enlarge an image of a height and width to be seen well."""
    return max(1, round(MIN_SIDE / max(shape[:2])))


def overlay_labels(
    image: np.ndarray, label_map: np.ndarray, palette: np.ndarray
) -> np.ndarray:
    """Tint an image by class, with a line where classes meet.

    Of two classes, only the second is tinted: the first is the background.

    Args:
        image: RGB (H, W, 3) uint8.
        label_map: Class ids (H, W).
        palette: Colours (K, 3) uint8.

    Returns:
        RGB uint8; small images come out enlarged by `display_factor`.
    """
    if image.shape[:2] != label_map.shape:
        raise UserError(
            f'label map of {label_map.shape} pixels on an image of '
            f'{image.shape[:2]}: expected one size'
        )
    factor = display_factor(image.shape)
    labels = label_map.repeat(factor, 0).repeat(factor, 1)
    picture = image
    if factor > 1:
        size = labels.shape[::-1]
        picture = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    colours = colour_labels(labels, palette).astype(np.float32)
    tint = np.full((*labels.shape, 1), OPACITY, np.float32)
    if len(palette) == 2:
        tint[labels == 0] = 0
        colours[:] = palette[1]
    ids, kernel = labels.astype(np.float32), np.ones((3, 3), np.uint8)
    tint[cv2.dilate(ids, kernel) != cv2.erode(ids, kernel)] = 1
    blend = (1 - tint) * picture + tint * colours
    return blend.round().clip(0, 255).astype(np.uint8)


def shown_size(size: Sequence[int], max_side: int) -> tuple[int, int]:
    """Height and width, made smaller where a side is longer than allowed."""
    factor = min(1.0, max_side / max(size))
    height, width = (max(1, round(factor * side)) for side in size)
    return height, width


def shrunk(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """An image (H, W, 3) made smaller, if that is not its size."""
    if image.shape[:2] == size:
        return image
    return cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA)


def pick_pixels(maps: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Resize maps (..., H, W) without blending: every value was there."""
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(int)
        for new, old in zip(size, maps.shape[-2:], strict=True)
    )
    return maps[..., rows[:, None], columns]


def encode_labels(label_map: np.ndarray, palette: np.ndarray) -> bytes:
    """Class ids (H, W) as a PNG file that viewers show in colours.

    Args:
        label_map: The ids; over 255 they take 16 bits and have no colours.
        palette: Colours (K, 3) uint8.
    """
    wide = label_map.max() > 255
    ids = label_map.astype(np.uint16 if wide else np.uint8, copy=False)
    image = Image.fromarray(ids)
    if not wide:
        image.putpalette(palette[:256].tobytes())
    return encode_picture(image)


def encode_picture(image: Image.Image) -> bytes:
    """A picture as the content of a PNG file."""
    file = io.BytesIO()
    image.save(file, 'PNG', compress_level=3)
    return file.getvalue()


def encode_figure(
    figure: Figure, suffix: str = '.png', dpi: int = 100
) -> bytes:
    """A figure as the content of a file with that suffix."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=suffix[1:], dpi=dpi)
    return drawn.getvalue()


def write_figure(path: Path, figure: Figure, dpi: int = 100) -> None:
    """Write a figure as the path's suffix says, whole or not at all."""
    write_file(path, encode_figure(figure, path.suffix, dpi))


def drop_samples(folder: Path, first: int) -> None:
    """Remove ``<k>.png`` from k = ``first`` on: what another run has left."""
    for path in folder.glob('*.png'):
        if path.stem.isdecimal() and int(path.stem) >= first:
            path.unlink()
