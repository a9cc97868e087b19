"""Small data sets on disk for the tests of this folder."""

from pathlib import Path

import cv2
import numpy as np


def write(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), array)
    return path


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def make_set(
    root: Path,
    stems: tuple[str, ...] = ('a', 'b'),
    annotators: tuple[int, ...] = (2, 3),
    layout: str = 'folders',
    split: str = 'train',
    size: tuple[int, int] = (12, 16),
) -> Path:
    """Images with random masks of 0 and 1, in one of the layouts."""
    rng = np.random.default_rng(0)
    for stem, count in zip(stems, annotators, strict=True):
        image = rng.integers(0, 256, (*size, 3), np.uint8)
        write(root / 'images' / split / f'{stem}.png', image)
        for a in range(count):
            name = {
                'folders': f'{stem}/r{a}.png',
                'side': f'{stem}_l{a}.png',
                'single': f'{stem}.png',
            }[layout]
            mask = rng.integers(0, 2, size, np.uint8)
            write(root / 'annotations' / split / name, mask)
    return root


PREFIX = {'img_path': 'images/train', 'seg_map_path': 'annotations/train'}
CLASSES = {'classes': ('background', 'thing')}
