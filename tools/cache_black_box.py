"""Predict once with a black box, and train on its predictions many times.

Example::

    python tools/cache_black_box.py configs/car/car_deeplabv3_cityscapes24.py

The config is that of a training whose pipelines have LoadBlackBoxProbs with
form 'labels', 'top4' or 'probs'. The black box of its model sees every image
of every split as it lies on disk. tools/train.py does the same before it
trains; this tool can use more processes. Run it again after an interruption:
it goes on.
"""

import argparse

from mmcar import cli
from mmcar.config_check import Trace, check_config, judge
from mmcar.engine.black_box_cache import make_cache, plan_caches
from mmcar.utils.errors import UserError


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    cli.add_config_arguments(parser)
    cli.add_check_arguments(parser)
    parser.add_argument(
        '--jobs',
        type=int,
        metavar='N',
        help='processes, dealt out over the GPUs; default: one per GPU',
    )
    return parser.parse_args()


def main() -> None:
    """Make the caches of a config."""
    args = parse_args()
    if args.jobs is not None and args.jobs < 1:
        raise UserError(f'--jobs={args.jobs}: expected at least 1.')
    cfg = cli.load_config(args)
    with cli.naming_config(args.config):
        if args.check:
            judge(check_config(cfg), args.strict)
        trace = Trace(cfg)
        with trace.building(), trace.at(''):
            plans = plan_caches(cfg)
    if not plans:
        raise UserError(
            f'{args.config} reads no cache: expected LoadBlackBoxProbs with '
            "form='labels', 'top4' or 'probs' in a pipeline."
        )
    for plan in plans:
        make_cache(plan, args.jobs)
        print(f'{plan.folder}: complete, {len(plan.images)} predictions')


if __name__ == '__main__':
    cli.run_tool(main)
