"""Hooks that write, draw, show or send what a model predicts."""

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from mmengine.dist import all_reduce, is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.visualization import Visualizer
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample

from ..datasets.image_files import input_image
from ..evaluation import CalibrationMetric
from ..structures import KeyOwners, sample_key
from ..utils.background import BackgroundWriter
from ..utils.checks import at_least
from ..utils.errors import UserError
from ..utils.files import inside
from .figures import (
    SampleRow,
    changing,
    draw_curves,
    draw_reliability,
    draw_sample_grid,
    find_logs,
    read_curves,
    spread,
)
from .pictures import (
    dataset_palette,
    drop_samples,
    encode_figure,
    encode_labels,
    write_figure,
)

SCREENS = ('DISPLAY', 'WAYLAND_DISPLAY')
DPI = 110  # of figures of the whole test set


def need_screen(instead: str) -> None:
    """Refuse to show pictures where nobody could see them.

    Args:
        instead: What to do there.
    """
    if sys.platform == 'linux' and not any(map(os.environ.get, SCREENS)):
        raise UserError(f'there is no display to show images on; {instead}')


def show_picture(picture: np.ndarray, title: str, seconds: float) -> None:
    """Show RGB (H, W, 3) uint8 for some time, or until the space key."""
    Visualizer().show(picture, title, wait_time=seconds)


def output_name(sample: SegDataSample | Mapping) -> PurePosixPath:
    """Relative name of a sample's files: its key without the suffix."""
    key = PurePosixPath(sample_key(sample))
    if not key.name:
        raise UserError(
            'A test image has neither img_path nor sample_key, so that its '
            'files would have no name.'
        )
    inside('the output folder', key)
    return key.with_suffix('')


def prediction_row(inputs: object, sample: SegDataSample) -> SampleRow:
    """Collect what `draw_sample_grid` shows of a predicted sample.

    A model that draws no samples shows its decision in their place.
    """
    samples = sample.get('pred_samples', sample.get('pred_sem_seg')).data
    probs = sample.get('sample_probs')
    probs = sample.seg_logits.data.softmax(0) if probs is None else probs.data
    labels = sample.get('gt_sem_segs', sample.get('gt_sem_seg'))
    shape = tuple(samples.shape[-2:])
    return SampleRow(
        image=input_image(inputs, shape),
        samples=samples.cpu().numpy(),
        probs=probs.float().cpu().numpy(),
        labels=None if labels is None else labels.data.cpu().numpy(),
    )


class PredictionHook(Hook):
    """Sees every test image and what is predicted of it.

    Attributes:
        modes: Loops whose images are seen, of 'val' and 'test'.
        metainfo: Of the data set.
    """

    modes: tuple[str, ...] = ('test',)
    metainfo: Mapping

    def _after_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: Sequence[SegDataSample] | None = None,
        mode: str = 'train',
    ) -> None:
        """See the images of a batch; MMEngine calls this in every loop."""
        if mode not in self.modes:
            return
        loop = getattr(runner, f'{mode}_loop')
        self.metainfo = loop.dataloader.dataset.metainfo
        for inputs, sample in zip(data_batch['inputs'], outputs, strict=True):
            self.see(inputs, sample)

    @abstractmethod
    def see(self, inputs: object, sample: SegDataSample) -> None:
        """See an image.

        Args:
            inputs: What the model was given, see `input_image`.
            sample: What it predicted.
        """


class FilesHook(PredictionHook):
    """Writes files for every test image, while the next ones are predicted.

    Args:
        out_dir: Folder of the files.
    """

    def __init__(self, out_dir: str) -> None:
        self.out_dir = Path(out_dir)
        self.writer = BackgroundWriter()

    def before_test(self, runner: Runner) -> None:
        """Refuse test sets in which two images would write the same files."""
        dataset = runner.test_loop.dataloader.dataset
        owners = KeyOwners('the files')
        if hasattr(dataset, 'get_data_info'):
            for i in range(len(dataset)):
                info = dataset.get_data_info(i)
                owners.claim(output_name(info), info['img_path'])

    def write(self, files: Mapping[str, Callable[[], bytes]]) -> None:
        """Have files written.

        Args:
            files: For each name below the folder, what makes its content. It
                is called in another thread, and holds arrays, not what a GPU
                may change.
        """
        self.writer.submit(
            {inside(self.out_dir, name): files[name] for name in files}
        )

    def after_test(self, runner: Runner) -> None:
        """Wait for the last file."""
        self.writer.finish()


@HOOKS.register_module()
class DrawSamplesHook(FilesHook):
    """Draws a figure per test image.

    Args:
        out_dir: Folder of the figures, ``<sample key>.png``.
        num_samples: Samples shown at most.
    """

    def __init__(self, out_dir: str, num_samples: int = 8) -> None:
        super().__init__(out_dir)
        self.num_samples = num_samples

    def see(self, inputs: object, sample: SegDataSample) -> None:
        """Draw an image."""
        row = prediction_row(inputs, sample)
        colours = dataset_palette(self.metainfo, len(row.probs))

        def draw() -> bytes:
            grid = draw_sample_grid([row], colours, self.num_samples)
            return encode_figure(grid)

        self.write({f'{output_name(sample)}.png': draw})


@HOOKS.register_module()
class ShowSamplesHook(PredictionHook):
    """Shows figures of images, in validation and in test.

    They go to the visualiser's backends (``vis_backends``), which are files,
    TensorBoard, W&B and others, or into a window.

    Args:
        interval: Images from one that is shown to the next.
        num_images: Shown at most, by the first process; None for all.
        num_samples: Samples of each shown at most.
        show: Open a window instead.
        wait_time: Seconds of each there; 0 waits for the space key.
    """

    modes = ('val', 'test')

    def __init__(
        self,
        interval: int = 1,
        num_images: int | None = 4,
        num_samples: int = 8,
        show: bool = False,
        wait_time: float = 2.0,
    ) -> None:
        at_least(1, interval=interval, num_samples=num_samples)
        if num_images is not None:
            at_least(1, num_images=num_images)
        if show:
            need_screen('write plots to files: --show-dir.')
        self.interval, self.num_images = interval, num_images
        self.num_samples = num_samples
        self.show, self.wait_time = show, wait_time

    def _before_epoch(self, runner: Runner, mode: str = 'train') -> None:
        """Count a loop's images anew; MMEngine calls this for each."""
        self.places, self.mode = count(), mode
        self.send = partial(runner.visualizer.add_image, step=runner.iter)

    def see(self, inputs: object, sample: SegDataSample) -> None:
        """Show an image."""
        shown, between = divmod(next(self.places), self.interval)
        enough = self.num_images is not None and shown >= self.num_images
        if between or enough or not is_main_process():
            return
        row = prediction_row(inputs, sample)
        palette = dataset_palette(self.metainfo, len(row.probs))
        figure = draw_sample_grid([row], palette, self.num_samples)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        picture = np.asarray(canvas.buffer_rgba())[..., :3]
        name = output_name(sample)
        if self.show:
            show_picture(picture, str(name), self.wait_time)
        else:  # the backend of files makes no folders for names with slashes
            self.send('_'.join((self.mode, *name.parts)), picture)


@HOOKS.register_module()
class SaveSamplesHook(FilesHook):
    """Writes predicted label maps as PNG files, see `encode_labels`.

    ``samples/<sample key>/<k>.png`` are the samples, in the layout that
    `MultiAnnotatorDataset` reads as annotators; ``decision/<sample key>.png``
    is the decision. The key is the image's path relative to the parent of
    the image folder, here without its suffix.
    """

    def see(self, inputs: object, sample: SegDataSample) -> None:
        """Write the maps of an image."""
        name = output_name(sample)
        maps = {f'decision/{name}.png': sample.pred_sem_seg.data[0]}
        if 'pred_samples' in sample:
            drawn = sample.pred_samples.data
            for k, label_map in enumerate(drawn):
                maps[f'samples/{name}/{k:03d}.png'] = label_map
            drop_samples(self.out_dir / 'samples' / name, len(drawn))
        colours = dataset_palette(self.metainfo, len(sample.seg_logits.data))
        self.write(
            {
                path: partial(encode_labels, label_map.cpu().numpy(), colours)
                for path, label_map in maps.items()
            }
        )


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

    def before_test(self, runner: Runner) -> None:
        """Choose the images."""
        number = len(runner.test_loop.dataloader.sampler)
        self.chosen = spread(number, self.num_images)
        self.rows, self.metric = [], CalibrationMetric()

    def see(self, inputs: object, sample: SegDataSample) -> None:
        """Keep what is drawn of an image."""
        if len(self.metric.results) in self.chosen:
            self.rows.append(prediction_row(inputs, sample))
        self.metric.process({}, [sample.to_dict()])

    def after_test(self, runner: Runner) -> None:
        """Draw, and say where."""
        bins = self.metric.bins_of(self.metric.results)
        all_reduce(bins.sums)
        if not is_main_process():
            return
        palette = dataset_palette(self.metainfo, len(self.rows[0].probs))
        figures = dict(
            samples=draw_sample_grid(self.rows, palette, self.num_samples),
            reliability=draw_reliability(
                bins.confidence, bins.accuracy, bins.count, 'Calibration net'
            ),
        )
        # The runner's own log is that of this test.
        logs = find_logs(runner.work_dir)
        logs = [log for log in logs if runner.timestamp not in log.parts]
        if curves := changing(read_curves(*logs)):
            figures['training'] = draw_curves(curves)
        else:
            print(
                f'No training curves: no log in {runner.work_dir} has two '
                'values of a loss or score; default_hooks.logger.interval '
                'says how often they are written.'
            )
        for name, figure in figures.items():
            path = self.out_dir / f'{name}.png'
            write_figure(path, figure, DPI)
            print(path)
