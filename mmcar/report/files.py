"""Label maps and figures as files."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from ..datasets.image_files import encode_png
from ..utils.files import write_file


def encode_labels(label_map: np.ndarray, palette: np.ndarray) -> bytes:
    """Class ids (H, W) as a PNG file that viewers show in colours.

    Args:
        label_map: The ids; over 255 they take 16 bits and have no colours.
        palette: Colours (K, 3) uint8.
    """
    if label_map.max() > 255:
        return encode_png(label_map.astype(np.uint16, copy=False))
    image = Image.fromarray(label_map.astype(np.uint8, copy=False))
    image.putpalette(palette[:256].tobytes())
    file = io.BytesIO()
    image.save(file, 'PNG', compress_level=3)
    return file.getvalue()


def drop_samples(folder: Path, first: int) -> None:
    """Remove ``<k>.png`` from k = ``first`` on: what another run has left."""
    for path in folder.glob('*.png'):
        if path.stem.isdecimal() and int(path.stem) >= first:
            path.unlink()


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
