"""Draw a tested model: samples, reliability diagram, training curves.

Writes samples.png, reliability.png and, if the work dir holds a log of a
training, training.png.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from mmengine.runner import Runner
from mmseg.structures import SegDataSample
from torch import nn
from torch.utils.data import DataLoader

from mmcar import cli
from mmcar.evaluation import CalibrationBins, CalibrationMetric
from mmcar.utils.progress import track
from mmcar.visualization import (
    SampleRow,
    changing,
    draw_curves,
    draw_reliability,
    draw_sample_grid,
    find_logs,
    read_curves,
)
from mmcar.visualization.hooks import prediction_row
from mmcar.visualization.sample_grid import dataset_palette


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


@torch.no_grad()
def predict(
    model: nn.Module, loader: DataLoader
) -> Iterator[tuple[object, SegDataSample]]:
    """Predict a data set; yields each image's input and prediction."""
    model.eval()
    for batch in track(loader, 'test', len(loader)):
        inputs = list(batch['inputs'])
        yield from zip(inputs, model.test_step(batch), strict=True)


def collect(
    runner: Runner, num_rows: int
) -> tuple[list[SampleRow], CalibrationBins, dict]:
    """Go through the test set once.

    Args:
        runner: With the model's weights loaded.
        num_rows: Images to draw, spread evenly over the set.

    Returns:
        The rows, the confidence bins of all pixels, and the data set's
        metainfo.
    """
    metric, rows = CalibrationMetric(), []
    loader = runner.build_dataloader(runner.cfg.test_dataloader)
    last = len(loader.dataset) - 1
    chosen = set(np.linspace(0, last, num_rows).round().astype(int))
    for i, (inputs, sample) in enumerate(predict(runner.model, loader)):
        metric.process({}, [sample.to_dict()])
        if i in chosen:
            rows.append(prediction_row(inputs, sample))
    bins = CalibrationBins()
    bins.sums = sum(result['bins'] for result in metric.results)
    return rows, bins, loader.dataset.metainfo


def main() -> None:
    """Draw."""
    args = parse_args()
    cfg = cli.load_config(args)
    out = Path(args.out or Path(cfg.work_dir) / 'figures')
    out.mkdir(parents=True, exist_ok=True)
    logs = find_logs(cfg.work_dir)  # before the runner begins one of its own
    cfg.load_from, cfg.resume = None, False
    runner = cli.build_runner(cfg, args.config)
    cli.load_checkpoint(runner, args.checkpoint)
    rows, bins, metainfo = collect(runner, args.images)
    palette = dataset_palette(metainfo, len(rows[0].probs))
    figures = {
        'samples': draw_sample_grid(rows, args.samples, palette=palette),
        'reliability': draw_reliability(
            bins.confidence, bins.accuracy, bins.count, title='Calibration net'
        ),
    }
    if curves := changing(read_curves(*logs)):
        figures['training'] = draw_curves(curves)
    else:
        print(
            f'No training curves: no log in {cfg.work_dir} has two values of '
            'a loss or score; default_hooks.logger.interval says how often '
            'they are written.'
        )
    for name, figure in figures.items():
        figure.savefig(out / f'{name}.png', dpi=110)
        print(out / f'{name}.png')


if __name__ == '__main__':
    cli.run_tool(main)
