"""Shrink Cityscapes to 256x512 and make its train-id labels.

Example::

    python tools/dataset_converters/cityscapes24.py CITYSCAPES data/cityscapes

CITYSCAPES holds leftImg8bit/ and gtFine/ as they unpack. The output has the
layout that MMSeg reads, with a sixteenth of the pixels to decode. Class flips
are drawn while loading, not here. Run it again after an interruption: it goes
on.
"""

import argparse
from collections import Counter
from pathlib import Path

import cv2
from rich.progress import track

from mmcar.cli import run_tool
from mmcar.datasets.converters.writing import claim_folder
from mmcar.datasets.image_files import read_image, write_png
from mmcar.datasets.label_files import read_label
from mmcar.utils.errors import UserError

# Cityscapes' ids of the 19 classes, in the order of their train ids.
CLASS_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22)
CLASS_IDS += (23, 24, 25, 26, 27, 28, 31, 32, 33)
TRAIN_IDS = dict.fromkeys(range(256), 255) | {
    class_id: train_id for train_id, class_id in enumerate(CLASS_IDS)
}


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('cityscapes', type=Path)
    parser.add_argument('out_dir', type=Path)
    parser.add_argument('--height', type=int, default=256)
    parser.add_argument('--splits', nargs='+', default=['train', 'val'])
    args = parser.parse_args(argv)
    if len(set(args.splits)) < len(args.splits):
        parser.error(f'--splits {args.splits}: expected each split once')
    if args.height <= 0:
        parser.error(f'--height {args.height}: expected a positive number')
    return args


def convert_image(
    source: Path, root: Path, out_dir: Path, height: int
) -> None:
    """Shrink one image and its label; the image appears last."""
    name = source.relative_to(root / 'leftImg8bit')
    stem = source.name.removesuffix('_leftImg8bit.png')
    folder = Path('gtFine') / name.parent
    image = read_image(str(source))
    label = read_label(
        str(root / folder / f'{stem}_gtFine_labelIds.png'),
        label_map=TRAIN_IDS,
        num_classes=len(CLASS_IDS),
        shape=image.shape,
    )
    size = (round(height * image.shape[1] / image.shape[0]), height)
    small = cv2.resize(label, size, interpolation=cv2.INTER_NEAREST)
    write_png(out_dir / folder / f'{stem}_gtFine_labelTrainIds.png', small)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    write_png(out_dir / 'leftImg8bit' / name, small)


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    args = parse_args(argv)
    if args.out_dir.resolve() == args.cityscapes.resolve():
        raise UserError(f'{args.out_dir}: expected another folder than input')
    images = []
    for split in args.splits:
        folder = args.cityscapes / 'leftImg8bit' / split
        found = sorted(folder.glob('*/*_leftImg8bit.png'))
        if not found:
            raise UserError(
                f'{folder}: no <city>/*_leftImg8bit.png; unpack '
                'leftImg8bit_trainvaltest.zip and gtFine_trainvaltest.zip '
                f'into {args.cityscapes}'
            )
        images += found
    claim_folder(args.out_dir, {'height': args.height})
    counts = Counter()
    for source in track(images, description='Images'):
        name = source.relative_to(args.cityscapes)
        counts[name.parts[1]] += 1
        if not (args.out_dir / name).is_file():
            convert_image(source, args.cityscapes, args.out_dir, args.height)
    for split, count in counts.items():
        print(f'{split}: {count} images in {args.out_dir}')


if __name__ == '__main__':
    run_tool(main)
