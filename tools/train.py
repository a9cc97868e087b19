"""Train a model from a config."""

import argparse
import logging

from mmengine.config import Config
from mmengine.logging import print_log

from mmcar import cli


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='PATH',
        help='go on from this checkpoint; without PATH from the newest whole '
        'one in the work dir, or from the start if there is none',
    )
    parser.add_argument(
        '--amp',
        action='store_true',
        help='mixed-precision training of every network (GPU only)',
    )
    return parser.parse_args()


def set_resume(cfg: Config, path: str) -> None:
    """Let the runner resume from ``path``, or find where if ``'auto'``."""
    if path == 'auto':
        from mmcar.engine import find_resumable_checkpoint

        path = find_resumable_checkpoint(cfg.work_dir)
    if path is None:
        print_log(
            f'Nothing to resume in {cfg.work_dir}: starting anew.',
            logger='current',
            level=logging.WARNING,
        )
        return
    cfg.load_from, cfg.resume = str(path), True


def main() -> None:
    """Train."""
    args = parse_args()
    cfg = cli.load_config(args)
    if args.amp:
        cli.enable_amp(cfg)
    if args.resume:
        set_resume(cfg, args.resume)
    cli.build_runner(cfg, args.config).train()


if __name__ == '__main__':
    cli.run_tool(main)
