"""Train a model from a config."""

import argparse

from mmcar import cli
from mmcar.apis.training import build_runner, dry_run, train


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_check_arguments(parser)
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
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='build all and try one step of every phase, then say what a '
        'training would do; the same as tools/validate.py',
    )
    return parser.parse_args()


def main() -> None:
    """Train."""
    args = parse_args()
    cfg = cli.load_config(args)
    if args.amp:
        cli.enable_amp(cfg)
    if args.resume:
        # Which checkpoint that is, one process decides for all of them.
        cfg.resume = True
        cfg.load_from = None if args.resume == 'auto' else args.resume
    with cli.naming_config(args.config):
        if args.dry_run:
            print(dry_run(cfg, args.strict))
            return
        runner = build_runner(cfg, args.check, args.strict)
        try:
            train(runner)
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(
                'The same command with --resume goes on from the newest '
                f'checkpoint in {cfg.work_dir}.'
            ) from stop


if __name__ == '__main__':
    cli.run_tool(main)
