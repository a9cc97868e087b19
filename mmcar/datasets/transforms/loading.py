"""Transforms that read images and annotators' maps."""

import numpy as np
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...utils.checks import one_of
from ..image_files import COLOR_TYPES, read_image
from ..label_files import read_label
from .intensity import RAW_DTYPE


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
    ids = np.unique(labels)
    ids = ids[ids != ignore_index]
    if not ids.size:
        return labels[0].copy()
    votes = np.stack([(labels == i).sum(0) for i in ids])  # (ids, H, W)
    return np.where(votes.any(0), ids[votes.argmax(0)], ignore_index).astype(
        np.uint8
    )


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
        labels = [
            read_label(
                path,
                label_map=results.get('label_map'),
                num_classes=results.get('num_classes'),
                class_flips=results.get('class_flips', ()),
                ignore_index=self.ignore_index,
                shape=results.get('ori_shape'),
                backend_args=self.backend_args,
            )
            for path in needed
        ]
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
