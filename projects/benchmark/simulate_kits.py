"""Make up an image for every slice of KiTS, whose CT is not there.

Example::

    python projects/benchmark/simulate_kits.py data/kits data/kits_simulated

Reads `annotations/{train,val}/<case>_<slice>/*.png` with the ids 0 to 3 and
writes the layout of `MultiAnnotatorDataset`: a grey image of *one* shape per
structure, cut from the annotators' agreement at a random level, so that the
agreement itself is not visible. A second run goes on.
"""

import argparse
import zlib
from pathlib import Path

import cv2
import numpy as np
from benchmark.simulated_kidney import simulate_kidney

from mmcar.cli import run_tool
from mmcar.datasets import MultiAnnotatorWriter
from mmcar.utils.errors import MissingFileError


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('source', type=Path, help='folder of the annotations')
    parser.add_argument('out_dir', type=Path)
    parser.add_argument('--seed', type=int, default=0)
    return parser.parse_args()


def read(folder: Path) -> np.ndarray:
    """The annotations (A, H, W) of a slice."""
    paths = sorted(folder.glob('*.png'))
    if not paths:
        raise MissingFileError(f'{folder}: expected one PNG per annotation')
    return np.stack([cv2.imread(str(p), cv2.IMREAD_UNCHANGED) for p in paths])


def main() -> None:
    """Write images and annotations of both splits."""
    args = parse_args()
    writer = MultiAnnotatorWriter(args.out_dir)
    for split in ('train', 'val'):
        folders = sorted((args.source / 'annotations' / split).glob('*/'))
        if not folders:
            raise MissingFileError(
                f'{args.source}: expected annotations/{split}/<slice>/*.png'
            )
        for folder in folders:
            if writer.image_path(split, folder.name).is_file():
                continue
            labels = read(folder)
            # Of the slice alone, so that the order is of no matter.
            key = [args.seed, zlib.crc32(folder.name.encode())]
            image = simulate_kidney(labels, np.random.default_rng(key))
            writer.write(split, folder.name, image, labels)
    print(f'{writer.written} slices written to {args.out_dir}')


if __name__ == '__main__':
    run_tool(main)
