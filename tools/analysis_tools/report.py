"""Write a report on a model: one page with scores and an explorer.

CONFIG and CHECKPOINT are those of a model of mmcar or of any model of
MMSegmentation, which is sampled from without training. The test images of
the config need labels.
"""

import argparse
import sys
from pathlib import Path

from mmcar import cli
from mmcar.apis.report import build_report


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        'config', help="config file, 'mmcar::...' or 'mmseg::...'"
    )
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--out',
        type=Path,
        default=Path('report.html'),
        metavar='FILE',
        help='the page (default: report.html); .csv and .json stand beside it',
    )
    cli.add_prediction_arguments(parser)
    parser.add_argument(
        '--max-images',
        type=int,
        default=40,
        metavar='N',
        help='images that can be opened, half of them spread evenly over the '
        'set, half with the worst GED (default: 40); scores are of all',
    )
    parser.add_argument(
        '--max-side',
        type=int,
        default=512,
        metavar='PIXELS',
        help='show larger images smaller (default: 512); they are scored at '
        'their own size',
    )
    parser.add_argument(
        '--no-bounds',
        action='store_true',
        help='do not score samplers that know the labels, which is faster',
    )
    parser.add_argument(
        '--figures',
        action='store_true',
        help='also write plots as PNG and PDF files',
    )
    parser.add_argument(
        '--work-dir',
        metavar='DIR',
        help="folder with the training log (default: the checkpoint's)",
    )
    parser.add_argument(
        '--promises',
        metavar='FILE',
        help='what calibrate.py --promise has written (default: the file '
        'beside the checkpoint, if there is one)',
    )
    cli.add_console_arguments(parser)
    return parser.parse_args()


def main() -> None:
    """Write the report."""
    args = parse_args()
    files = build_report(
        args.config,
        args.checkpoint,
        args.out,
        num_samples=args.num_samples,
        seed=args.seed,
        max_images=args.max_images,
        max_side=args.max_side,
        bounds=not args.no_bounds,
        figures=args.figures,
        work_dir=args.work_dir,
        device=args.device,
        cfg_options=args.cfg_options,
        promises=args.promises,
        progress=True,
    )
    print(*files.lines(), sep='\n')
    for reason in files.unreadable.values():
        print(f'report.py: unreadable: {reason}', file=sys.stderr)
    if files.unreadable:
        sys.exit(1)


if __name__ == '__main__':
    cli.run_tool(main)
