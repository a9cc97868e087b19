"""Make a data set of simulated nodules, with simulated readers.

Example::

    python tools/dataset_converters/simulated_nodules.py data/simulated

Nothing is downloaded, nothing comes from a patient: outlines, readers and CT
crops are drawn from a random generator. Run it again with more images: it
adds them.
"""

import argparse
from pathlib import Path

import numpy as np

from mmcar.cli import add_console_arguments, run_tool
from mmcar.datasets.converters.simulated_nodules import simulate_nodule
from mmcar.datasets.converters.writing import (
    MultiAnnotatorWriter,
    claim_folder,
    write_settings,
)
from mmcar.utils.progress import track

# Of each 20 images.
SPLITS = ('train',) * 14 + ('val',) * 3 + ('test',) * 3


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('out_dir', type=Path)
    parser.add_argument('--images', type=int, default=2000, help='of all')
    parser.add_argument('--size', type=int, default=96, help='pixels')
    parser.add_argument('--seed', type=int, default=0)
    add_console_arguments(parser)
    args = parser.parse_args(argv)
    for name in ('images', 'size'):
        if getattr(args, name) <= 0:
            parser.error(
                f'--{name} {getattr(args, name)}: expected a positive number'
            )
    return args


def convert(args: argparse.Namespace) -> str:
    """Write all images and return the summary."""
    settings = dict(images=args.images, size=args.size, seed=args.seed)
    claim_folder(args.out_dir, settings, grows='images')
    writer = MultiAnnotatorWriter(args.out_dir)
    for number in track(range(args.images), 'Images'):
        # Of its number alone, so that more images change none.
        rng = np.random.default_rng([args.seed, number])
        image, masks, kind = simulate_nodule(rng, args.size)
        split, stem = SPLITS[number % len(SPLITS)], f'{number:05d}_{kind}'
        writer.count(split, masks)
        if not writer.image_path(split, stem).is_file():
            writer.write(split, stem, image, masks)
    write_settings(args.out_dir, settings)
    return writer.summary()


def main(argv: list[str] | None = None) -> None:
    """Make the data set, from the command line."""
    print(convert(parse_args(argv)))


if __name__ == '__main__':
    run_tool(main)
