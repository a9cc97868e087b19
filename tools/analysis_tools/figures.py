"""Plot a model: samples, reliability diagram, training curves.

Predicts the test set and writes samples.png, reliability.png and, if the
work dir holds a log of a training, training.png. `tools/test.py --figures`
plots the same of a test.
"""

import argparse
from pathlib import Path

from mmcar import cli
from mmcar.apis.training import build_runner


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--out', metavar='DIR', help='folder (default: WORK_DIR/figures)'
    )
    parser.add_argument(
        '--images', type=int, default=6, help='rows of samples.png'
    )
    parser.add_argument(
        '--samples', type=int, default=8, help='samples shown per image'
    )
    return parser.parse_args()


def main() -> None:
    """Draw."""
    args = parse_args()
    cfg = cli.load_config(args)
    figures = dict(
        type='FiguresHook',
        out_dir=args.out or str(Path(cfg.work_dir) / 'figures'),
        num_images=args.images,
        num_samples=args.samples,
    )
    cfg.custom_hooks = [*(cfg.get('custom_hooks') or []), figures]
    cfg.test_evaluator = dict(type='CalibrationMetric')
    cfg.load_from, cfg.resume = None, False
    with cli.naming_config(args.config):
        runner = build_runner(cfg)
    cli.load_checkpoint(runner, args.checkpoint)
    runner.test()


if __name__ == '__main__':
    cli.run_tool(main)
