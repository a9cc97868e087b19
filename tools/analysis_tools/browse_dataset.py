"""Show images with the labels of all annotators: PNGs and one HTML page.

Example::

    python tools/analysis_tools/browse_dataset.py \
        configs/_base_/datasets/bubil.py work_dirs/browse --split val

Shows what the pipeline of the split gives to a model, augmentation included;
in windows, if no folder is named.
"""

import argparse
import html
from pathlib import Path

import cv2
import numpy as np
from mmengine.config import DictAction
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS

from mmcar.cli import add_console_arguments, run_tool
from mmcar.compat.configs import read_config
from mmcar.datasets.image_files import input_image, write_png
from mmcar.report.hooks import need_screen, show_picture
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file
from mmcar.utils.progress import track

PAGE = """<!DOCTYPE html>
<meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif }} img {{ max-width: 100% }}</style>
<h1>{title}</h1><p>{legend}</p>
{figures}
"""
FIGURE = '<figure><figcaption>{text}</figcaption><img src="{src}"></figure>'


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('config')
    parser.add_argument('out_dir', type=Path, nargs='?')
    parser.add_argument(
        '--output-dir', type=Path, help="the same, as in MMSegmentation's tool"
    )
    parser.add_argument(
        '--not-show', action='store_true', help='open no window'
    )
    parser.add_argument(
        '--show-interval', type=float, default=2, help='seconds of a window'
    )
    parser.add_argument('--split', default='train')
    parser.add_argument('--num', type=int, default=20, help='images to show')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--cfg-options', nargs='+', action=DictAction)
    add_console_arguments(parser)
    args = parser.parse_args(argv)
    if args.num <= 0:
        parser.error(f'--num {args.num}: expected a positive number')
    args.out_dir = args.out_dir or args.output_dir
    if args.out_dir is None and args.not_show:
        parser.error('--not-show: name a folder, OUT_DIR')
    return args


def paint(
    image: np.ndarray, label: np.ndarray, palette: np.ndarray
) -> np.ndarray:
    """Lay a label map over an image.

    Args:
        image: (H, W, 3) uint8, BGR.
        label: (H, W) class ids; ids without a colour leave the image as is.
        palette: (K, 3) uint8, RGB.

    Returns:
        The overlay (H, W, 3).
    """
    known = label < len(palette)
    colour = palette[np.where(known, label, 0)][..., ::-1]
    mixed = image // 2 + colour // 2
    return np.where(known[..., None], mixed, image).astype(np.uint8)


def draw_sample(packed: dict, palette: np.ndarray) -> np.ndarray:
    """Image, its drawn or majority label, and each annotator, in a row."""
    inputs = packed['inputs']
    image = input_image(inputs, tuple(inputs.shape[1:]))[..., ::-1]
    sample = packed['data_samples']
    keys = [key for key in ('gt_sem_seg', 'gt_sem_segs') if key in sample]
    labels = [m for key in keys for m in sample.get(key).data.numpy()]
    size = image.shape[1::-1]
    labels = [
        cv2.resize(m.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
        for m in labels
    ]
    return np.hstack([image, *(paint(image, m, palette) for m in labels)])


def main(argv: list[str] | None = None) -> None:
    """Draw, from the command line."""
    args = parse_args(argv)
    config = read_config(args.config, args.cfg_options)
    loader = config.get(f'{args.split}_dataloader')
    if loader is None:
        raise UserError(f'{args.config} has no {args.split}_dataloader.')
    if args.out_dir is None:
        need_screen('name a folder to write them to, OUT_DIR.')
    init_default_scope('mmseg')
    np.random.seed(args.seed)
    dataset = DATASETS.build(loader.dataset)
    palette = np.array(dataset.metainfo['palette'], np.uint8)
    # Spread over the set, whose neighbours are often slices of one nodule.
    picked = np.linspace(0, len(dataset) - 1, min(args.num, len(dataset)))
    figures = []
    for i in track(np.unique(picked.astype(int)), 'Images'):
        packed = dataset[int(i)]
        path = packed['data_samples'].img_path
        name = f'{i:06d}_{Path(path).stem}.png'
        picture = draw_sample(packed, palette)
        if args.out_dir is None:
            show_picture(picture[..., ::-1], path, args.show_interval)
            continue
        write_png(args.out_dir / name, picture)
        figures.append(FIGURE.format(text=html.escape(path), src=name))
    if args.out_dir is None:
        return
    names = zip(dataset.metainfo['classes'], palette.tolist(), strict=True)
    legend = 'Image, drawn or majority label, then every annotator. '
    legend += ', '.join(
        f'<span style="color: rgb{(*rgb,)}">&#9632;</span> {html.escape(name)}'
        for name, rgb in names
    )
    title = html.escape(f'{args.config}, {args.split}')
    page = args.out_dir / 'index.html'
    text = PAGE.format(title=title, legend=legend, figures='\n'.join(figures))
    write_file(page, text.encode())
    print(f'{len(figures)} of {len(dataset)} images in {page}')


if __name__ == '__main__':
    run_tool(main)
