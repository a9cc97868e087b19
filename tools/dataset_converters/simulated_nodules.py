"""Make a data set of simulated nodules, with simulated annotators.

Example::

    python tools/dataset_converters/simulated_nodules.py data/simulated

Nothing is downloaded, nothing comes from a patient: a random generator makes
outlines, annotators and CT crops. Run it again with more images: it adds
them.
"""

import argparse
from typing import NamedTuple

import numpy as np
from simulated_ct import blur, lung
from writing import (
    CountingWriter,
    claim_folder,
    converter_arguments,
    positive,
    write_settings,
)

from mmcar.cli import run_tool
from mmcar.utils.progress import track

# Of each 20 images.
SPLITS = ('train',) * 14 + ('val',) * 3 + ('test',) * 3
READERS = 4
KINDS = {'clear': 0.35, 'halo': 0.35, 'faint': 0.3}
"""How often what happens: annotators differ about the edge alone; about a
faint halo, which they take for a part of the nodule or not; about whether
there is a nodule."""


class SimulatedNodule(NamedTuple):
    """An image (H, W) uint8, masks (4, H, W) of 0 and 1, and the kind."""

    image: np.ndarray
    masks: np.ndarray
    kind: str


def outline(
    rng: np.random.Generator, size: int, radius: float, center: np.ndarray
) -> np.ndarray:
    """A closed curve around a centre, as a level set.

    Args:
        rng: Source of its shape.
        size: Height and width of the image.
        radius: Mean distance of the curve from its centre, in pixels.
        center: Row and column of the centre.

    Returns:
        (size, size): roughly the distance from the curve, negative inside.
    """
    rows, columns = np.indices((size, size)) - center[:, None, None]
    angle = np.arctan2(rows, columns)
    waves = np.zeros((size, size))
    for k in range(2, 6):
        height, phase = rng.normal(0, 0.22 / k), rng.uniform(0, 2 * np.pi)
        waves += height * np.cos(k * angle + phase)
    return np.hypot(rows, columns) - radius * (1 + waves)


def simulate_nodule(
    rng: np.random.Generator, size: int, kind: str | None = None
) -> SimulatedNodule:
    """Draw a nodule, its image, and what four annotators make of it.

    How often annotators see a halo or a faint nodule grows with its contrast,
    so the image says how probable each reading is, and no more.

    Args:
        rng: Source of all randomness.
        size: Height and width of the image.
        kind: A key of `KINDS`; None draws one.
    """
    kind = kind or str(rng.choice(list(KINDS), p=list(KINDS.values())))
    center = size / 2 + rng.normal(0, size / 16, 2)
    radius = size * rng.uniform(0.08, 0.15)
    core = outline(rng, size, radius, center)
    shift = rng.normal(0, radius / 4, 2)
    halo = outline(rng, size, radius * rng.uniform(1.6, 2.1), center + shift)
    halo = np.minimum(halo, core - 1)  # the core lies inside
    seen = rng.uniform(0.2, 0.8)  # share of annotators who see it
    contrast = rng.uniform(0.3, 0.45)
    if kind == 'faint':
        contrast = 0.05 + 0.14 * seen
    image = lung(rng, size)
    if kind == 'halo':
        image = image + (0.05 + 0.15 * seen) * blur(halo < 0, 1.2)
    image = image + contrast * blur(core < 0, rng.uniform(0.8, 1.6))
    image = image + 0.02 * rng.standard_normal((size, size))
    masks = np.zeros((READERS, size, size), np.uint8)
    for mask in masks:
        sees = rng.random() < seen
        if kind == 'faint' and not sees:
            continue
        level = halo if kind == 'halo' and sees else core
        # A hand that is generous or not, and never quite steady.
        edge = rng.normal(0, 0.07 * radius) + hand(rng, size, 0.06 * radius)
        mask[:] = level < edge
    image = (image.clip(0, 1) * 255).astype(np.uint8)
    return SimulatedNodule(image, masks, kind)


def hand(rng: np.random.Generator, size: int, pixels: float) -> np.ndarray:
    """How far an annotator's curve is off, smoothly, place by place."""
    noise = blur(rng.standard_normal((size, size)), size / 16)
    return pixels * noise / noise.std()


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = converter_arguments(__doc__, 'out_dir')
    parser.add_argument('--images', type=int, default=2000, help='of all')
    parser.add_argument('--size', type=int, default=96, help='pixels')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args(argv)
    positive(parser, args, 'images', 'size')
    return args


def convert(args: argparse.Namespace) -> str:
    """Write all images and return the summary."""
    settings = dict(images=args.images, size=args.size, seed=args.seed)
    claim_folder(args.out_dir, settings, grows='images')
    writer = CountingWriter(args.out_dir)
    for number in track(range(args.images), 'Images'):
        # Of its number alone, so that more images change none.
        rng = np.random.default_rng([args.seed, number])
        image, masks, kind = simulate_nodule(rng, args.size)
        split, stem = SPLITS[number % len(SPLITS)], f'{number:05d}_{kind}'
        writer.complete(split, stem, masks, lambda image=image: image)
    write_settings(args.out_dir, settings)
    return writer.summary()


def main(argv: list[str] | None = None) -> None:
    """Make the data set, from the command line."""
    print(convert(parse_args(argv)))


if __name__ == '__main__':
    run_tool(main)
