"""Make Cityscapes ready: train-id labels, and copies at 256x512.

Example::

    python tools/dataset_converters/cityscapes24.py CITYSCAPES data/cityscapes

CITYSCAPES holds leftImg8bit/ and gtFine/ as they unpack. The output has the
layout that MMSeg reads: gtFine/ with train-id labels at full size, and
leftImg8bit/, links to the images, which the black box sees as they are.
256x512/ has both at the size at which F and G work, with a sixteenth of the
pixels to decode. Both arguments may be the same folder, also one that is
ready for MMSeg. Class flips are drawn while loading, not here. Run it again
after an interruption: it goes on.
"""

import argparse
from collections import Counter
from pathlib import Path

import cv2
from writing import claim_folder, converter_arguments, positive

from mmcar.cli import run_tool
from mmcar.datasets.image_files import read_image, write_png
from mmcar.datasets.label_files import read_label
from mmcar.utils.errors import UserError
from mmcar.utils.progress import track

# Cityscapes' ids of the 19 classes, in the order of their train ids.
CLASS_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22)
CLASS_IDS += (23, 24, 25, 26, 27, 28, 31, 32, 33)
TRAIN_IDS = dict.fromkeys(range(256), 255) | {
    class_id: train_id for train_id, class_id in enumerate(CLASS_IDS)
}


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = converter_arguments(__doc__, 'cityscapes', 'out_dir')
    parser.add_argument('--height', type=int, default=256)
    parser.add_argument('--splits', nargs='+', default=['train', 'val'])
    args = parser.parse_args(argv)
    if len(set(args.splits)) < len(args.splits):
        parser.error(f'--splits {args.splits}: expected each split once')
    positive(parser, args, 'height')
    return args


def convert_image(
    source: Path, root: Path, out_dir: Path, small_dir: Path, height: int
) -> None:
    """Convert one label and shrink both; the small image appears last."""
    name = source.relative_to(root)
    stem = source.name.removesuffix('_leftImg8bit.png')
    folder = Path('gtFine', *name.parts[1:-1])
    image = read_image(str(source))
    label = read_label(
        str(root / folder / f'{stem}_gtFine_labelIds.png'),
        label_map=TRAIN_IDS,
        num_classes=len(CLASS_IDS),
        shape=image.shape,
    )
    size = (2 * height, height)
    if 2 * image.shape[0] != image.shape[1]:
        raise UserError(
            f'{source}: {image.shape[0]}x{image.shape[1]} pixels; expected '
            'an image twice as wide as high, as those of Cityscapes are'
        )
    train_ids = folder / f'{stem}_gtFine_labelTrainIds.png'
    write_png(out_dir / train_ids, label)
    small = cv2.resize(label, size, interpolation=cv2.INTER_NEAREST)
    write_png(small_dir / train_ids, small)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    write_png(small_dir / name, small)


def link_images(folder: Path, link: Path) -> None:
    """Let a link lead to a folder of images, unless it does already."""
    if link.exists() and link.resolve() != folder.resolve():
        raise UserError(
            f'{link} is there, and does not lead to {folder}: the black box '
            'would see other images. Delete it, or choose another folder.'
        )
    if not link.exists():
        link.unlink(missing_ok=True)  # led to a folder that is gone
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder.resolve(), target_is_directory=True)


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    args = parse_args(argv)
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
    for split in args.splits:
        name = Path('leftImg8bit', split)
        link_images(args.cityscapes / name, args.out_dir / name)
    small_dir = args.out_dir / f'{args.height}x{2 * args.height}'
    claim_folder(small_dir, {'height': args.height})
    counts = Counter()
    for source in track(images, 'Images'):
        name = source.relative_to(args.cityscapes)
        counts[name.parts[1]] += 1
        if not (small_dir / name).is_file():
            folders = args.cityscapes, args.out_dir, small_dir
            convert_image(source, *folders, args.height)
    for split, count in counts.items():
        print(f'{split}: {count} images in {args.out_dir}')


if __name__ == '__main__':
    run_tool(main)
