"""Draw street scenes with labels, in the layout in which Cityscapes unpacks.

Example::

    python projects/synthetic_cityscapes/draw.py raw

Writes leftImg8bit/ and gtFine/ below the folder: 36 images for training, 12
for validation, 1024x2048 pixels, all 19 classes. The same seed draws the same
pixels. Run it again after an interruption: it goes on.
"""

import argparse
from pathlib import Path

from mmcar import cli
from synthetic_cityscapes.dataset import write_dataset


def main() -> None:
    """Draw, from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('folder', type=Path)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    write_dataset(args.folder, args.seed)


if __name__ == '__main__':
    cli.run_tool(main)
