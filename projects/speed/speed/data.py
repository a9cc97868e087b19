"""The share of training time spent waiting for data, phase by phase."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from mmengine.config import Config, DictAction
from mmengine.runner import Runner

from mmcar.compat.configs import read_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this benchmark."""
    parser.add_argument('config', help='config of a training')
    parser.add_argument(
        '--iters', type=int, default=40, help='iterations timed per phase'
    )
    parser.add_argument(
        '--warmup', type=int, default=10, help='iterations before them'
    )
    parser.add_argument('--cfg-options', nargs='+', action=DictAction)


def shorten(config: Config, iters: int, work_dir: str) -> Config:
    """Make a config train each phase for so many iterations, and no more."""
    config.work_dir = work_dir
    # Runs of one process share what has the same name.
    config.experiment_name = Path(work_dir).name
    config.visualizer = None
    for phase in config.train_cfg.phases:
        phase.iters = iters
    for key in ('val_cfg', 'val_dataloader', 'val_evaluator'):
        config[key] = None
    config.default_hooks.checkpoint = None
    config.log_level = 'WARNING'
    return config


def run(args: argparse.Namespace) -> list[dict]:
    """Train each phase for a moment and time it."""
    config = read_config(args.config, args.cfg_options)
    phase_iters = args.warmup + args.iters
    with tempfile.TemporaryDirectory() as work_dir:
        runner = Runner.from_cfg(shorten(config, phase_iters, work_dir))
        runner.train()
    times = {
        key: np.array(runner.message_hub.get_scalar(f'train/{key}').data[0])
        for key in ('data_time', 'time')
    }
    rows = []
    for number, phase in enumerate(config.train_cfg.phases):
        start = number * phase_iters + args.warmup
        part = slice(start, start + args.iters)
        seconds = times['time'][part].sum()
        waiting = times['data_time'][part].sum()
        rows.append(
            {
                'phase': ' + '.join(phase.train),
                'seconds per iteration': seconds / args.iters,
                'share waiting for data': waiting / seconds,
            }
        )
        print(
            f'{rows[-1]["phase"]}: {seconds / args.iters:.3f} s per '
            f'iteration, {waiting / seconds:.1%} of it waiting for data'
        )
    return rows
