"""Hooks of ``tools/test.py``: predictions as files and as figures."""

from collections.abc import Sequence
from pathlib import Path

import mmcv
import numpy as np
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample
from PIL import Image

from .sample_grid import SampleRow, draw_sample_grid


def output_name(sample: SegDataSample) -> Path:
    """Relative name of a sample's files: its folder and its stem."""
    path = Path(sample.metainfo.get('sample_key') or sample.img_path)
    return Path(*path.parts[-2:-1], path.stem)


def input_image(inputs: object, shape: tuple[int, int]) -> np.ndarray:
    """Show what the model was given as an RGB image.

    Args:
        inputs: Image (C, h, w) before normalisation, BGR if C = 3, or a list
            of its augmented versions.
        shape: Size (H, W) of the predictions.

    Returns:
        RGB (H, W, 3) uint8.
    """
    if isinstance(inputs, list | tuple):
        inputs = inputs[0]
    image = inputs.detach().cpu().numpy().astype(np.float32)
    image = image[::-1] if len(image) == 3 else image[[0, 0, 0]]
    if image.min() < 0 or image.max() <= 1:  # no 8-bit image
        low, high = image.min(), image.max()
        image = 255 * (image - low) / max(high - low, 1e-6)
    image = image.transpose(1, 2, 0).clip(0, 255).astype(np.uint8)
    return mmcv.imresize(np.ascontiguousarray(image), shape[::-1])


def prediction_row(inputs: object, sample: SegDataSample) -> SampleRow:
    """Collect what `draw_sample_grid` shows of a predicted sample.

    A model that draws no samples shows its decision in their place.
    """
    if 'pred_samples' in sample:
        samples = sample.pred_samples.data
    else:
        samples = sample.pred_sem_seg.data
    if 'sample_probs' in sample:
        probs = sample.sample_probs.data
    else:
        probs = sample.seg_logits.data.softmax(0)
    labels = sample.get('gt_sem_segs', sample.get('gt_sem_seg'))
    shape = tuple(samples.shape[-2:])
    return SampleRow(
        image=input_image(inputs, shape),
        samples=samples.cpu().numpy().astype(np.uint8),
        probs=probs.float().cpu().numpy(),
        labels=None if labels is None else labels.data.cpu().numpy(),
    )


@HOOKS.register_module()
class DrawSamplesHook(Hook):
    """Draws a figure per test image.

    Args:
        out_dir: Folder of the figures, ``<folder>/<stem>.png``.
        num_samples: Samples shown at most.
    """

    def __init__(self, out_dir: str, num_samples: int = 8) -> None:
        self.out_dir = Path(out_dir)
        self.num_samples = num_samples

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: Sequence[SegDataSample] | None = None,
    ) -> None:
        """Draw the images of a batch."""
        palette = (runner.test_loop.dataloader.dataset.metainfo or {}).get(
            'palette'
        )
        for inputs, sample in zip(data_batch['inputs'], outputs, strict=True):
            figure = draw_sample_grid(
                [prediction_row(inputs, sample)],
                num_samples=self.num_samples,
                palette=np.array(palette, np.uint8) if palette else None,
            )
            path = self.out_dir / output_name(sample)
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(f'{path}.png', dpi=100)


@HOOKS.register_module()
class SaveSamplesHook(Hook):
    """Writes predicted label maps as 8-bit PNG files.

    ``samples/<folder>/<stem>/<k>.png`` are the samples, in the layout that
    `MultiAnnotatorDataset` reads as annotators; ``decision/<folder>/
    <stem>.png`` is the decision.

    Args:
        out_dir: Folder of the files.
    """

    def __init__(self, out_dir: str) -> None:
        self.out_dir = Path(out_dir)

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: Sequence[SegDataSample] | None = None,
    ) -> None:
        """Write the maps of a batch."""
        for sample in outputs:
            name = output_name(sample)
            self._write('decision' / name, sample.pred_sem_seg.data[0])
            if 'pred_samples' in sample:
                for k, label_map in enumerate(sample.pred_samples.data):
                    self._write('samples' / name / f'{k:03d}', label_map)

    def _write(self, name: Path, label_map: object) -> None:
        path = self.out_dir / f'{name}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(label_map.cpu().numpy().astype(np.uint8)).save(path)
