"""Draw one of the paper's figures with a model of your own.

Examples::

    python projects/paper/figures.py samples CONFIG CHECKPOINT
    python projects/paper/figures.py offsets CONFIG CHECKPOINT

samples      F, mean of the samples, mean of the annotators, and samples
entropy      of F, of the mean of the samples, and of single samples
independent  pixels of F drawn one by one, beside samples of the model
offsets      predicted minus true probability of every class that flips
reliability  of F: how often it is right, by its confidence, in ten bins
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from mmengine.runner import Runner

from mmcar import cli
from mmcar.apis.training import build_runner
from mmcar.evaluation import CalibrationBins, CalibrationMetric
from mmcar.report import draw_reliability
from mmcar.report.pictures import dataset_palette, write_figure
from mmcar.utils.errors import UserError
from paper.panels import (
    add_legend,
    draw_grid,
    draw_offsets,
    entropy_panels,
    independent_panels,
    sample_panels,
)
from paper.views import views_of

# Samples that each of them shows.
GRIDS = dict(samples=5, entropy=2, independent=3)
SCORES = ('offsets', 'reliability')


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('figure', choices=(*GRIDS, *SCORES))
    cli.add_config_arguments(parser)
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--images',
        type=int,
        nargs='+',
        metavar='INDEX',
        help='images of the test set (default: 4, evenly spread)',
    )
    parser.add_argument(
        '--samples', type=int, help='shown per image (default: by figure)'
    )
    parser.add_argument(
        '--out', metavar='FILE', help='default: WORK_DIR/paper/<figure>.png'
    )
    return parser.parse_args()


def grid_of(runner: Runner, args: argparse.Namespace) -> Figure:
    """A figure with a row per image."""
    chosen = args.images or 4
    shown = args.samples or GRIDS[args.figure]
    drawn = max(runner.cfg.model.get('test_cfg', {}).get('num_samples', 16), 2)
    views = list(views_of(runner, chosen, drawn))
    meta = runner.test_dataloader.dataset.metainfo
    palette = dataset_palette(meta, len(views[0].calibrated))
    if args.figure == 'entropy':
        rows = [entropy_panels(view, shown) for view in views]
        top = max(np.nanmax(row[1][1]) for row in rows)
        return draw_grid(rows, max(float(top), 1e-3))
    if args.figure == 'samples':
        truth = 'truth' if meta.get('class_flips') else 'mean of annotators'
        rows = [sample_panels(v, palette, shown, truth) for v in views]
    else:
        rows = [independent_panels(v, palette, shown) for v in views]
    return add_legend(
        draw_grid(rows), views, palette, meta.get('classes') or ()
    )


@torch.no_grad()
def calibration_sums(runner: Runner) -> list[dict]:
    """What the calibration metric counts of every test image."""
    metric = CalibrationMetric()
    runner.model.eval()
    for batch in runner.test_dataloader:
        predicted = runner.model.test_step(batch)
        metric.process({}, [sample.to_dict() for sample in predicted])
    return metric.results


def offsets_of(runner: Runner, config: str) -> Figure:
    """Bars of the classes that flip."""
    meta = runner.test_dataloader.dataset.metainfo
    flips = meta.get('class_flips')
    if not flips:
        raise UserError(f'{config}: no class of its data set flips.')
    results = calibration_sums(runner)
    said = {}
    for key, name in (('offsets', 'F'), ('offsets_samples', 'samples')):
        sums = sum(result[key] for result in results)
        said[name] = (sums[:, 0] / sums[:, 1]).tolist()
    names = [meta['classes'][twin] for _, twin, _ in flips]
    return draw_offsets(names, [p for *_, p in flips], said)


def reliability_of(runner: Runner) -> Figure:
    """Accuracy by confidence of F."""
    bins = CalibrationBins()
    bins.sums = sum(result['bins'] for result in calibration_sums(runner))
    return draw_reliability(
        bins.confidence, bins.accuracy, bins.count, 'Calibration net'
    )


def main() -> None:
    """Draw, from the command line."""
    args = parse_args()
    cfg = cli.load_config(args)
    out = Path(args.out or Path(cfg.work_dir) / f'paper/{args.figure}.png')
    cfg.load_from, cfg.resume = None, False
    with cli.naming_config(args.config):
        runner = build_runner(cfg)
    if args.checkpoint:
        cli.load_checkpoint(runner, args.checkpoint)
    elif any(p.requires_grad for p in runner.model.parameters()):
        raise UserError('This model has weights: name a checkpoint.')
    if args.figure in GRIDS:
        figure = grid_of(runner, args)
    elif args.figure == 'offsets':
        figure = offsets_of(runner, args.config)
    else:
        figure = reliability_of(runner)
    write_figure(out, figure)
    print(out)


if __name__ == '__main__':
    cli.run_tool(main)
