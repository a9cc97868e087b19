"""Crops, padding and sizes for several label maps per image."""

import mmcv
import numpy as np
from mmcv.transforms import BaseTransform, Pad
from mmseg.datasets.transforms import Resize
from mmseg.registry import TRANSFORMS

from ...utils.errors import UserError

OPENCV_CHANNELS = 4  # all that it pads at once


@TRANSFORMS.register_module()
class CenterCropAll(BaseTransform):
    """Crop the centre; unlike mmcv's ``CenterCrop``, of every label map.

    Modified keys: ``img``, ``img_shape``, ``ori_shape`` and every key in
    ``seg_fields``.

    Args:
        crop_size: Height and width.
    """

    def __init__(self, crop_size: int | tuple[int, int]) -> None:
        if isinstance(crop_size, int):
            crop_size = (crop_size, crop_size)
        self.crop_size = tuple(crop_size)

    def transform(self, results: dict) -> dict:
        """Crop image, label maps and cached predictions alike."""
        size = results['img'].shape[:2]
        if np.less(size, self.crop_size).any():
            raise UserError(
                f'{results.get("img_path", "image")}: {size} pixels, smaller '
                f'than the crop {self.crop_size}; pad it first or crop less'
            )
        (top, left), (height, width) = self._corner(results), self.crop_size
        window = np.s_[top : top + height, left : left + width]
        for key in ['img', *results.get('seg_fields', [])]:
            results[key] = np.ascontiguousarray(results[key][window])
        # Predictions are resized to ``ori_shape``: the crop is the image now.
        results['img_shape'] = results['ori_shape'] = self.crop_size
        return results

    def _corner(self, results: dict) -> np.ndarray:
        """First row and first column of the crop."""
        return np.subtract(results['img'].shape[:2], self.crop_size) // 2


@TRANSFORMS.register_module()
class LesionCenteredCrop(CenterCropAll):
    """Crop around what the annotators marked: for making a data set.

    The labels decide what a model gets to see, at test time too. That is
    part of the definition of the LIDC shapes; no method that is compared
    with others on images of its own may use it. See :class:`CenterCropAll`.

    The crop's centre is that of the box around all foreground pixels of all
    loaded maps, or the image's where nobody marked any; it is moved as far
    as needed to lie inside the image.

    Args:
        crop_size: Height and width.
        background: Class id that is no lesion.
        ignore_index: Label of unlabelled pixels, no lesion either.
    """

    def __init__(
        self,
        crop_size: int | tuple[int, int],
        background: int = 0,
        ignore_index: int = 255,
    ) -> None:
        super().__init__(crop_size)
        self.background = background
        self.ignore_index = ignore_index

    def _corner(self, results: dict) -> np.ndarray:
        fields = [
            key
            for key in results.get('seg_fields', [])
            if key.startswith('gt_seg_map')
        ]
        # All annotators' maps if they were kept, else the drawn one.
        kept = [key for key in fields if key != 'gt_seg_map'] or fields
        other = self.background, self.ignore_index
        marked = [np.argwhere(~np.isin(results[key], other)) for key in kept]
        if not any(map(len, marked)):
            return super()._corner(results)
        places = np.concatenate(marked)  # (N, 2)
        start = (places.min(0) + places.max(0) + 1 - self.crop_size) // 2
        room = np.subtract(results['img'].shape[:2], self.crop_size)
        return start.clip(0, room)


@TRANSFORMS.register_module()
class PadAll(Pad):
    """mmcv's ``Pad`` for every key in ``seg_fields``, not one alone.

    Takes the arguments of ``Pad``; its ``padding_mode`` is of the image.
    Added pixels are unlabelled in every map. Cached predictions are filled
    like labels; the packer makes such pixels uniform.
    """

    def _pad_img(self, results: dict) -> None:
        image, parts = np.atleast_3d(results['img']), []
        if image.shape[2] <= OPENCV_CHANNELS:
            return super()._pad_img(results)
        for start in range(0, image.shape[2], OPENCV_CHANNELS):
            part = image[..., start : start + OPENCV_CHANNELS]
            results['img'] = np.ascontiguousarray(part)
            super()._pad_img(results)
            parts.append(np.atleast_3d(results['img']))
        results['img'] = np.concatenate(parts, 2)
        results['pad_shape'] = results['img'].shape

    def _pad_seg(self, results: dict) -> None:
        for key in results.get('seg_fields', []):
            results[key] = mmcv.impad(
                results[key],
                shape=results['pad_shape'][:2],
                pad_val=self.pad_val.get('seg', 255),
            )


@TRANSFORMS.register_module()
class ResizeOriginal(Resize):
    """``Resize`` for an experiment that is evaluated at the new size.

    Takes the arguments of ``Resize``. Predictions are usually scaled back to
    the image's own size; after this transform they are not.
    """

    def transform(self, results: dict) -> dict:
        """Resize image and labels, and forget the size of the file."""
        results = super().transform(results)
        results['ori_shape'] = results['img_shape']
        return results
