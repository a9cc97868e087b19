"""From files to images in the range of 8 bits, and to label maps."""

import os.path as osp
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...structures import ClassFlips
from ...utils.checks import one_of
from ...utils.errors import MissingFileError, UserError
from ...utils.files import inside
from ..image_files import COLOR_TYPES, read_image
from ..label_files import ids_in, reader_of

# Key of the type that a file has, until its values are mapped to 0..255.
RAW_DTYPE = 'raw_dtype'


def claim_raw_values(results: dict, transform: str) -> np.ndarray:
    """Take the image of a pipeline, to map its values.

    Args:
        results: Of the pipeline; from here on the image counts as mapped.
        transform: Name of the transform that maps them, for errors.

    Returns:
        The image (H, W) or (H, W, C), as float64.

    Raises:
        UserError: Another transform has changed the type of the values: a
            colour transform before this one has clipped them to 8 bits.
    """
    image = results['img']
    raw = results.pop(RAW_DTYPE, image.dtype.name)
    if raw != image.dtype.name:
        raise UserError(
            f'{results.get("img_path", "image")}: {raw} in the file, now '
            f'{image.dtype}; put {transform} right behind LoadCheckedImage'
        )
    return image.astype(np.float64)


def map_window(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Map low..high to 0..255, float32; what lies outside is clipped."""
    scaled = (image - low) * (255 / (high - low))
    return scaled.clip(0, 255).astype(np.float32)


@TRANSFORMS.register_module()
class WindowIntensity(BaseTransform):
    """Map a window of values to 0..255, the same for every image.

    For values that mean something by themselves: Hounsfield units of CT
    (``low=-1000, high=400`` shows the lung), the range of a camera
    (``low=0, high=4095`` for 12 bits). Use it right behind
    ``LoadCheckedImage``; what follows sees float32 images in the range of
    8-bit ones, so means, standard deviations and colour transforms fit.

    Modified keys: ``img``.

    Args:
        low: Value that becomes 0; lower ones do too.
        high: Value that becomes 255; higher ones do too.
    """

    def __init__(self, low: float, high: float) -> None:
        if not low < high:
            raise UserError(
                f'WindowIntensity: low={low}, high={high}; expected low < high'
            )
        self.low, self.high = low, high

    def transform(self, results: dict) -> dict:
        """Map the image (H, W) or (H, W, C) to float32."""
        image = claim_raw_values(results, type(self).__name__)
        results['img'] = map_window(image, self.low, self.high)
        return results


@TRANSFORMS.register_module()
class NormalizePercentiles(BaseTransform):
    """Map the range between two percentiles of each image to 0..255.

    For values without a unit, such as those of microscopes and MR scanners,
    whose range differs from image to image. Each channel has its own range.
    A channel of one value becomes 0; one whose two percentiles are equal
    (few bright spots on black) is mapped from its smallest to its largest
    value. Use it right behind ``LoadCheckedImage``.

    Modified keys: ``img``.

    Args:
        lower: Percentile that becomes 0.
        upper: Percentile that becomes 255.
    """

    def __init__(self, lower: float = 0.5, upper: float = 99.5) -> None:
        # An upper one of 1 or less is a share that should be a percentage.
        if not 0 <= lower < upper <= 100 or upper <= 1:
            raise UserError(
                f'NormalizePercentiles: lower={lower}, upper={upper}; '
                'expected 0 <= lower < upper <= 100, upper above 1'
            )
        self.lower, self.upper = lower, upper

    def transform(self, results: dict) -> dict:
        """Map the image (H, W) or (H, W, C) to float32."""
        image = claim_raw_values(results, type(self).__name__)
        channels = np.moveaxis(np.atleast_3d(image), -1, 0)
        mapped = np.stack([self._map(c) for c in channels], -1)
        results['img'] = mapped.reshape(image.shape)
        return results

    def _map(self, channel: np.ndarray) -> np.ndarray:
        low, high = np.percentile(channel, (self.lower, self.upper))
        if low == high:
            low, high = channel.min(), channel.max()
        if low == high:
            return np.zeros(channel.shape, np.float32)
        return map_window(channel, low, high)


@TRANSFORMS.register_module()
class LoadCheckedImage(BaseTransform):
    """Read the image at its full depth; a truncated file is an error.

    Images of 8 bits become uint8, all others keep type and values of the
    file. ``raw_dtype`` marks them until ``WindowIntensity`` or
    ``NormalizePercentiles`` brings them to the range of 8-bit images.

    Required keys: ``img_path``. Added keys: ``img``, ``img_shape``,
    ``ori_shape``, and ``raw_dtype`` if it is not uint8.

    Args:
        color_type: 'color' (grey images become 3 channels), 'grayscale' or
            'unchanged' (every channel of the file).
        backend_args: MMEngine's file backend.
    """

    def __init__(
        self, color_type: str = 'color', backend_args: dict | None = None
    ) -> None:
        one_of(COLOR_TYPES, color_type=color_type)
        self.color_type = color_type
        self.backend_args = backend_args

    def transform(self, results: dict) -> dict:
        """Add the image (H, W, C), or (H, W) if grey.

        MMSeg's inferencer hands over a path or an array in place of a dict.
        """
        if isinstance(results, str):
            results = {'img_path': results}
        elif isinstance(results, np.ndarray):
            results = {'img': results}
        image = results.get('img')
        if image is None:
            image = read_image(
                results['img_path'], self.color_type, self.backend_args
            )
        results['img'] = image
        if image.dtype != np.uint8:
            results[RAW_DTYPE] = image.dtype.name
        results['img_shape'] = results['ori_shape'] = image.shape[:2]
        return results


def majority(labels: np.ndarray, ignore_index: int = 255) -> np.ndarray:
    """The label that most annotators gave to each pixel.

    Args:
        labels: Annotators' maps, (A, H, W) uint8.
        ignore_index: A vote of this value does not count.

    Returns:
        The map (H, W): ties go to the lower id; ``ignore_index`` where
        nobody labelled the pixel.
    """
    best = np.zeros(labels.shape[1:], np.uint16)
    found = np.full(labels.shape[1:], ignore_index, np.uint8)
    # One id after the other: all at once would take gigabytes.
    for i in sorted(ids_in(labels) - {ignore_index}):
        votes = (labels == i).sum(0, dtype=np.uint16)
        more = votes > best
        found[more], best[more] = i, votes[more]
    return found


@TRANSFORMS.register_module()
class LoadMultiAnnotations(BaseTransform):
    """Read the label maps of an image, one per annotator.

    ``gt_seg_map`` becomes one annotator's map at random, for training, or
    the majority of all, for stock metrics. With ``keep_all`` each map is kept
    as ``gt_seg_map_<a>`` too. All are listed in ``seg_fields``, so that
    stock transforms treat them alike.

    Without ``seg_map_paths`` and ``seg_map_path``, nothing is done. Optional
    keys: ``img``, ``label_map``, ``num_classes``. Added keys: ``gt_seg_map``,
    ``gt_seg_map_<a>``, ``seg_fields``.

    Args:
        draw: Draw one annotator (training) instead of the majority.
        keep_all: Keep every map; None keeps them if nothing is drawn.
        ignore_index: Label of unlabelled pixels.
        backend_args: MMEngine's file backend.
    """

    def __init__(
        self,
        draw: bool = True,
        keep_all: bool | None = None,
        ignore_index: int = 255,
        backend_args: dict | None = None,
    ) -> None:
        self.draw = draw
        self.keep_all = not draw if keep_all is None else keep_all
        self.ignore_index = ignore_index
        self.backend_args = backend_args

    def transform(self, results: dict) -> dict:
        """Add the label maps (H, W) uint8."""
        if not {'seg_map_paths', 'seg_map_path'} & set(results):
            return results  # an image alone, as MMSeg's inferencers give it
        paths = results.get('seg_map_paths') or [results['seg_map_path']]
        drawn = np.random.randint(len(paths)) if self.draw else None
        needed = paths if drawn is None or self.keep_all else [paths[drawn]]
        read = reader_of(
            results,
            ignore_index=self.ignore_index,
            shape=results.get('ori_shape'),
            backend_args=self.backend_args,
        )
        labels = [read(path) for path in needed]
        if drawn is None:
            label = majority(np.stack(labels), self.ignore_index)
        else:
            label = labels[drawn if self.keep_all else 0].copy()
        maps = {'gt_seg_map': label}
        if self.keep_all:
            maps |= {f'gt_seg_map_{a}': m for a, m in enumerate(labels)}
        results.update(maps)
        results['seg_fields'] = [*results.get('seg_fields', []), *maps]
        return results


@TRANSFORMS.register_module()
class ReadCopies(BaseTransform):
    """Let the next transforms read copies of image and label map.

    A data set lists images as they came, which is what a black box sees. A
    training that works at a fraction of their size need not decode them at
    every iteration: put this first in its pipeline.

    Required keys: ``data_root``, ``img_path``. Optional keys:
    ``seg_map_path``. The paths are modified.

    Args:
        folder: Folder of the copies below ``data_root``; they have the same
            names below it as the originals below ``data_root``.
        advice: How copies are made, for the error if one is missing.
    """

    def __init__(self, folder: str, advice: str) -> None:
        self.folder = folder
        self.advice = advice

    def transform(self, results: dict) -> dict:
        """Point the paths to the copies."""
        root = results.get('data_root')
        if root is None:
            raise UserError(
                f'{results.get("img_path", "image")}: ReadCopies needs a '
                'data set that gives data_root, as Cityscapes24Dataset does.'
            )
        for key in {'img_path', 'seg_map_path'} & results.keys():
            name = osp.relpath(results[key], root)
            copy = inside(Path(root) / self.folder, name)
            if not copy.is_file():
                raise MissingFileError(f'{copy}: no such copy; {self.advice}')
            results[key] = str(copy)
        return results


@TRANSFORMS.register_module()
class RandomClassFlips(BaseTransform):
    """Turn whole classes of an image into their twins at random.

    Each row of the table is drawn once per image, independently. Only
    ``gt_seg_map`` changes; kept annotators' maps stay as they are, and with
    ``class_flips`` in the meta information they say the label distribution.

    Required keys: ``gt_seg_map``, ``class_flips`` unless given as argument.
    Modified keys: ``gt_seg_map``, ``class_flips``.

    Args:
        class_flips: Rows (class id, twin id, probability); None takes the
            table of the data set.
    """

    def __init__(self, class_flips: Sequence[tuple] | None = None) -> None:
        self.class_flips = (
            None if class_flips is None else ClassFlips.parse(class_flips)
        )

    def transform(self, results: dict) -> dict:
        """Draw the flips of one image."""
        flips = self.class_flips
        if flips is None:
            if 'class_flips' not in results:
                raise UserError(
                    'RandomClassFlips: neither it nor the metainfo of the '
                    'data set has class_flips=((class id, twin id, p), ...)'
                )
            flips = ClassFlips.parse(results['class_flips'])
        results['class_flips'] = flips
        results['gt_seg_map'] = flips.draw(results['gt_seg_map'])
        return results
