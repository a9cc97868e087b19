"""Synthetic images and masks, arranged as people arrange theirs."""

from pathlib import Path

import cv2
import numpy as np

from .samples import write

# How a folder is arranged: paths of image and label map.
LAYOUTS = {
    'ours': (
        'images/{split}/{stem}.png',
        'annotations/{split}/{stem}/{a}.png',
    ),
    'side by side': ('images/{stem}.png', 'annotations/{stem}_l{n}.png'),
    'masks by annotator': ('images/{stem}.png', 'masks_{a}/{stem}.png'),
    'folder by annotator': ('images/{stem}.png', '{a}/{stem}.png'),
    'below masks': ('images/{stem}.png', 'masks/{a}/{stem}.png'),
    'names end so': ('images/{stem}.png', 'masks/{stem}_who-{a}.png'),
    'splits first': ('train/images/{stem}.png', 'train/masks/{a}/{stem}.png'),
    'folder by image': ('{stem}/image.png', '{stem}/mask_{a}.png'),
    'folder of masks by image': ('{stem}/{stem}.png', '{stem}/masks/{a}.png'),
    'single': ('images/{stem}.png', 'masks/{stem}_mask.png'),
}


def paint(
    root: Path,
    layout: str,
    images: int = 8,
    annotators: tuple[int, ...] = (2, 3),
    classes: int = 2,
    deep: bool = False,
    sizes: tuple[tuple[int, int], ...] = ((37, 45), (50, 33)),
    ids: tuple[int, ...] = (0, 255),
    stem: str = 'case{:02d}',
) -> Path:
    """Discs of each class that annotators draw larger or smaller."""
    rng = np.random.default_rng(0)
    image_path, label_path = LAYOUTS[layout]
    for i in range(images):
        height, width = sizes[i % len(sizes)]
        discs = [
            (k, (int(x * width), int(y * height)))
            for k, (x, y) in enumerate(rng.uniform(0.2, 0.8, (classes - 1, 2)))
        ]
        split = 'train' if i < images - 4 else ('val', 'test')[i % 2]
        picture = 40 * rng.random((height, width))
        for a in range(annotators[i % len(annotators)]):
            mask = np.zeros((height, width), np.uint8)
            for k, centre in discs:
                cv2.circle(mask, centre, 8 + 2 * a - k, ids[k + 1], -1)
            name = label_path.format(
                split=split, stem=stem.format(i), a='abcd'[a], n=a
            )
            write(root / name, mask)
            picture += 70 * (mask > 0) + 10 * (mask == ids[-1])
        file = root / image_path.format(split=split, stem=stem.format(i))
        if deep:
            write(file, (picture * 90 + 300).astype(np.uint16))
        else:
            grey = picture.clip(0, 255).astype(np.uint8)
            write(file, np.stack([grey] * 3, -1))
    return root
