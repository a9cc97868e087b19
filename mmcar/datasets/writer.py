"""The layout that ``MultiAnnotatorDataset`` reads, written."""

from pathlib import Path

import numpy as np

from ..utils.files import inside
from .image_files import write_png, write_pngs


class MultiAnnotatorWriter:
    """Writes a data set, for converters of ours and of users.

    ``images/<split>/<stem>.png`` appears last, so an image that is there is
    complete; a second run may skip it.

    Args:
        out_dir: Folder to write to.
    """

    def __init__(self, out_dir: str | Path) -> None:
        self.out_dir = Path(out_dir)
        self.written = 0

    def image_path(self, split: str, stem: str) -> Path:
        """Where the image of a sample lies."""
        return inside(self.out_dir / 'images' / split, f'{stem}.png')

    def write(
        self, split: str, stem: str, image: np.ndarray, masks: np.ndarray
    ) -> None:
        """Write a sample: image (H, W) and readers' masks (A, H, W)."""
        folder = inside(self.out_dir / 'annotations' / split, stem)
        names = (folder / f'r{reader}.png' for reader in range(len(masks)))
        write_pngs(dict(zip(names, masks, strict=True)))
        write_png(self.image_path(split, stem), image)
        self.written += 1
