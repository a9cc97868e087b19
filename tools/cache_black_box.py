"""Predict once with a black box, and train on its predictions many times.

Example::

    python tools/cache_black_box.py CONFIG CHECKPOINT data/camvid_probs \
        data/camvid/train data/camvid/val

Give the folders that the data set's data_prefix names as img_path. For every
image below them, the tool writes OUT_DIR/<name of the folder>/<path below
it>.npy, (classes, height, width): what LoadBlackBoxProbs and CachedBlackBox
take. Run it again after an interruption: it goes on.
"""

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

import mmcv
import numpy as np
import torch
import torch.nn.functional as F
from mmengine.device import get_device
from mmengine.registry import init_default_scope
from rich.progress import track

from mmcar.cli import run_tool
from mmcar.datasets.converters.writing import claim_folder
from mmcar.datasets.image_files import IMAGE_SUFFIXES, read_image
from mmcar.models import BlackBox
from mmcar.structures import sample_key_below
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('config', help="MMSeg config, or 'mmseg::...'")
    parser.add_argument('checkpoint', help="file, URL or 'pretrained'")
    parser.add_argument('out_dir', type=Path)
    parser.add_argument(
        'images', type=Path, nargs='+', help='folders, searched to any depth'
    )
    parser.add_argument(
        '--size',
        type=int,
        nargs=2,
        metavar=('HEIGHT', 'WIDTH'),
        help='at which the black box sees the images; default: their own',
    )
    parser.add_argument(
        '--dtype',
        choices=('float16', 'uint8'),
        default='float16',
        help='uint8: steps of 1/255, half the space',
    )
    return parser.parse_args(argv)


def match_files(folders: Sequence[Path], out_dir: Path) -> dict[Path, Path]:
    """The images by the files of their predictions."""
    images = {}
    for folder in folders:
        files = sorted(folder.rglob('*'))
        found = [f for f in files if f.suffix.lower() in IMAGE_SUFFIXES]
        if not found:
            raise UserError(f'{folder}: no images {IMAGE_SUFFIXES}')
        for path in found:
            # LoadBlackBoxProbs knows an image by its sample key.
            image = str(path.relative_to(folder))
            key = sample_key_below(str(folder.absolute()), image)
            target = (out_dir / key).with_suffix('.npy')
            if target in images:
                raise UserError(
                    f'{path} and {images[target]} would both become {target}; '
                    'expected another folder or stem'
                )
            images[target] = path
    return images


def predict(
    black_box: BlackBox, path: Path, size: Sequence[int] | None, dtype: str
) -> bytes:
    """The content of one file."""
    image = read_image(str(path))
    if image.dtype != np.uint8:
        raise UserError(f'{path}: {image.dtype}; expected an image of 8 bits')
    height, width = size or image.shape[:2]
    seen = mmcv.imresize(image, (width, height)).astype(np.float32)
    seen = torch.tensor(seen.transpose(2, 0, 1)[None], device=get_device())
    probs = black_box(seen)
    probs = F.interpolate(probs, image.shape[:2], mode='bilinear')
    probs = probs[0].cpu().numpy()
    if dtype == 'uint8':
        probs = np.round(probs * 255)
    buffer = io.BytesIO()
    np.save(buffer, probs.astype(dtype))
    return buffer.getvalue()


def main(argv: list[str] | None = None) -> None:
    """Predict, from the command line."""
    args = parse_args(argv)
    images = match_files(args.images, args.out_dir)
    init_default_scope('mmseg')
    black_box = BlackBox(config=args.config, checkpoint=args.checkpoint)
    black_box.to(get_device())
    keys = ('config', 'checkpoint', 'size', 'dtype')
    claim_folder(args.out_dir, {key: vars(args)[key] for key in keys})
    todo = {t: path for t, path in images.items() if not t.is_file()}
    for target, path in track(todo.items(), description='Images'):
        content = predict(black_box, path, args.size, args.dtype)
        write_file(target, content)
    print(
        f'{len(images)} predictions of {black_box.num_classes} classes in '
        f'{args.out_dir}, {len(todo)} of them written now'
    )


if __name__ == '__main__':
    run_tool(main)
