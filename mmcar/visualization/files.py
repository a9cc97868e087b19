"""Label maps and figures as files."""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..datasets.image_files import write_png
from ..utils.files import write_file


def write_labels(path: Path, label_map: np.ndarray) -> None:
    """Write class ids (H, W) as a PNG file, of 16 bits for ids over 255."""
    dtype = np.uint8 if label_map.max() <= 255 else np.uint16
    write_png(path, label_map.astype(dtype))


def write_figure(path: Path, figure: Figure, dpi: int = 100) -> None:
    """Write a figure as the path's suffix says, whole or not at all."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=dpi)
    write_file(path, drawn.getvalue())
