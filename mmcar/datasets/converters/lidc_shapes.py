"""Slices of LIDC nodules as files: real outlines, simulated images."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .lidc_outlines import Nodule, nodule_slices
from .simulated_ct import simulate_crop
from .writing import MultiAnnotatorWriter


def write_nodules(
    nodules: Sequence[Nodule],
    split: str,
    *,
    out_dir: Path,
    size: int,
    spacing: float,
    seed: int,
) -> MultiAnnotatorWriter:
    """Write those slices of some nodules that are not there yet.

    Args:
        nodules: Of one patient.
        split: Of the patient.
        out_dir: Folder to write to.
        size: Height and width of the images, in pixels.
        spacing: Millimetres per pixel.
        seed: Of the simulated images.

    Returns:
        The writer, for its summary.
    """
    writer = MultiAnnotatorWriter(out_dir)
    for nodule in nodules:
        for k, masks in nodule_slices(nodule, size, spacing):
            stem = f'{nodule.name}_k{k:03d}'
            writer.count(split, masks)
            if writer.image_path(split, stem).is_file():
                continue
            # Of the slice alone, so that the order is of no matter.
            rng = np.random.default_rng([seed, zlib.crc32(stem.encode())])
            image = simulate_crop(nodule, masks, rng)
            writer.write(split, stem, image, masks)
    return writer
