"""Hooks of ``tools/test.py``: predictions as files and as figures."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample

from ..datasets.image_files import input_image
from ..structures import KeyOwners, sample_key
from ..utils.background import BackgroundWriter
from ..utils.errors import UserError
from ..utils.files import inside
from .files import drop_samples, encode_figure, encode_labels
from .sample_grid import SampleRow, dataset_palette, draw_sample_grid
from .windows import need_screen, show_picture

Files = dict[str, Callable[[], bytes]]
"""What makes each file's content, by its name below a folder."""


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


def refuse_shared_names(runner: Runner) -> None:
    """Refuse test sets in which two images would write the same files."""
    dataset = runner.test_loop.dataloader.dataset
    if not hasattr(dataset, 'get_data_info'):
        return
    owners = KeyOwners('the files')
    for i in range(len(dataset)):
        info = dataset.get_data_info(i)
        owners.claim(output_name(info), info['img_path'])


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
    """Sees every test image and what is predicted of it."""

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: Sequence[SegDataSample] | None = None,
    ) -> None:
        """See the images of a batch."""
        metainfo = runner.test_loop.dataloader.dataset.metainfo
        for inputs, sample in zip(data_batch['inputs'], outputs, strict=True):
            self.see(inputs, sample, metainfo)

    @abstractmethod
    def see(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> None:
        """See an image.

        Args:
            inputs: What the model was given, see `input_image`.
            sample: What it predicted.
            metainfo: Of the data set.
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
        """Find images that would overwrite each other."""
        refuse_shared_names(runner)

    def see(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> None:
        """Hand the files of an image to the writer."""
        files = self.files(inputs, sample, metainfo)
        self.writer.submit(
            {inside(self.out_dir, name): files[name] for name in files}
        )

    def after_test(self, runner: Runner) -> None:
        """Wait for the last file."""
        self.writer.finish()

    @abstractmethod
    def files(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> Files:
        """The files of an image, see `see`.

        Returns:
            For each name below the folder, what makes its content. It is
            called in another thread, and holds arrays, not what a GPU may
            change.
        """


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

    def files(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> Files:
        """The figure of an image."""
        row = prediction_row(inputs, sample)
        colours = dataset_palette(metainfo, len(row.probs))

        def draw() -> bytes:
            figure = draw_sample_grid(
                [row], num_samples=self.num_samples, palette=colours
            )
            return encode_figure(figure)

        return {f'{output_name(sample)}.png': draw}


@HOOKS.register_module()
class ShowSamplesHook(PredictionHook):
    """Shows a figure of every test image in a window.

    Args:
        wait_time: Seconds of each; 0 waits for the space key.
    """

    def __init__(self, wait_time: float = 2.0) -> None:
        need_screen('write figures to files: --show-dir.')
        self.wait_time = wait_time

    def see(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> None:
        """Show an image."""
        row = prediction_row(inputs, sample)
        palette = dataset_palette(metainfo, len(row.probs))
        canvas = FigureCanvasAgg(draw_sample_grid([row], palette=palette))
        canvas.draw()
        picture = np.asarray(canvas.buffer_rgba())[..., :3]
        show_picture(picture, str(output_name(sample)), self.wait_time)


@HOOKS.register_module()
class SaveSamplesHook(FilesHook):
    """Writes predicted label maps as PNG files, see `encode_labels`.

    ``samples/<sample key>/<k>.png`` are the samples, in the layout that
    `MultiAnnotatorDataset` reads as annotators; ``decision/<sample key>.png``
    is the decision. The key is the image's path relative to the parent of
    the image folder, here without its suffix.
    """

    def files(
        self, inputs: object, sample: SegDataSample, metainfo: Mapping | None
    ) -> Files:
        """The maps of an image."""
        name = output_name(sample)
        maps = {f'decision/{name}.png': sample.pred_sem_seg.data[0]}
        if 'pred_samples' in sample:
            drawn = sample.pred_samples.data
            for k, label_map in enumerate(drawn):
                maps[f'samples/{name}/{k:03d}.png'] = label_map
            drop_samples(self.out_dir / 'samples' / name, len(drawn))
        colours = dataset_palette(metainfo, len(sample.seg_logits.data))
        return {
            path: partial(encode_labels, label_map.cpu().numpy(), colours)
            for path, label_map in maps.items()
        }
