"""Label maps and figures as files."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..datasets.image_files import encode_png
from ..utils.files import write_file


def encode_labels(label_map: np.ndarray) -> bytes:
    """Class ids (H, W) as a PNG file, of 16 bits for ids over 255."""
    dtype = np.uint8 if label_map.max() <= 255 else np.uint16
    return encode_png(label_map.astype(dtype, copy=False))


def write_labels(path: Path, label_map: np.ndarray) -> None:
    """Write class ids (H, W) as a PNG file, whole or not at all."""
    write_file(path, encode_labels(label_map))


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
