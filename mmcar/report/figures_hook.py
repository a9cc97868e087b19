"""What a test has predicted, as figures of the whole test set."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure
from mmengine.dist import all_reduce, master_only
from mmengine.runner import Runner
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample

from ..evaluation import CalibrationBins, CalibrationMetric
from ..utils.checks import at_least
from .files import write_figure
from .hooks import PredictionHook, prediction_row
from .reliability import draw_reliability
from .sample_grid import SampleRow, dataset_palette, draw_sample_grid, spread
from .training_curves import changing, draw_curves, find_logs, read_curves

DPI = 110


@HOOKS.register_module()
class FiguresHook(PredictionHook):
    """Draws samples of some test images, and how reliable F is on all.

    ``samples.png``, ``reliability.png`` and, if the work dir holds the log
    of a training, ``training.png``. With several processes, the images are
    the first one's.

    Args:
        out_dir: Folder of the figures.
        num_images: Rows of samples.png, spread evenly over the test set.
        num_samples: Samples shown per image.
    """

    def __init__(
        self, out_dir: str, num_images: int = 6, num_samples: int = 8
    ) -> None:
        at_least(1, num_images=num_images, num_samples=num_samples)
        self.out_dir = Path(out_dir)
        self.num_images, self.num_samples = num_images, num_samples
        self.rows: list[SampleRow] = []
        self.bins = CalibrationBins()

    def before_test(self, runner: Runner) -> None:
        """Choose the images."""
        number = len(runner.test_loop.dataloader.sampler)
        self.chosen = spread(number, self.num_images)
        self.rows, self.seen = [], 0
        self.bins = CalibrationBins()

    def see(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> None:
        """Keep what is drawn of an image."""
        metric = CalibrationMetric()
        metric.process({}, [sample.to_dict()])
        self.bins.sums += metric.results[0]['bins']
        if self.seen in self.chosen:
            self.rows.append(prediction_row(inputs, sample))
        self.seen += 1

    def after_test(self, runner: Runner) -> None:
        """Draw, and say where."""
        all_reduce(self.bins.sums)
        self._write(runner)

    @master_only
    def _write(self, runner: Runner) -> None:
        for name, figure in self._draw(runner).items():
            path = self.out_dir / f'{name}.png'
            write_figure(path, figure, DPI)
            print(path)

    def _draw(self, runner: Runner) -> dict[str, Figure]:
        metainfo = runner.test_loop.dataloader.dataset.metainfo
        palette = dataset_palette(metainfo, len(self.rows[0].probs))
        bins = self.bins
        figures = {
            'samples': draw_sample_grid(
                self.rows, self.num_samples, palette=palette
            ),
            'reliability': draw_reliability(
                bins.confidence, bins.accuracy, bins.count, 'Calibration net'
            ),
        }
        # The runner's own log is that of this test.
        logs = [
            log
            for log in find_logs(runner.work_dir)
            if runner.timestamp not in log.parts
        ]
        if curves := changing(read_curves(*logs)):
            figures['training'] = draw_curves(curves)
        else:
            print(
                f'No training curves: no log in {runner.work_dir} has two '
                'values of a loss or score; default_hooks.logger.interval '
                'says how often they are written.'
            )
        return figures
