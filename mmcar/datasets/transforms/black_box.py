"""Transforms that bring a black box's predictions along with an image."""

from functools import cached_property
from pathlib import PurePosixPath

import mmcv
import numpy as np
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...structures import sample_key
from ...utils.checks import one_of
from ...utils.errors import MissingFileError, UserError
from ...utils.files import inside
from ..black_box_cache import FORMS, cache_file, read_cached, read_settings
from ..image_files import naming

ARRAYS = 'arrays'


@TRANSFORMS.register_module()
class LoadBlackBoxProbs(BaseTransform):
    """Read the cached class probabilities of a black box.

    They come out at the size that the image has at this point: use it
    behind a resize, and before flips, crops and padding, through which each
    class goes like a label map.

    A cache that ``tools/cache_black_box.py`` makes has the form 'labels',
    'top4' or 'probs'; ``root`` is its folder, or the parent of such folders,
    of which ``tools/train.py`` and ``tools/test.py`` find the right one.

    Predictions of any other model have the form 'arrays': the file of an
    image is ``<root>/<sample key>.npy``, the key without its suffix (below
    ``data/x/images/train``, ``p1/0.png`` has the key ``train/p1/0.png``). It
    holds an array (K, H, W) at the size of the image on disk: float
    probabilities, or uint8 in steps of 1/255.

    Required keys: ``img_path``, ``img_shape``, ``ori_shape``. Optional keys:
    ``sample_key``. Added keys: ``black_box_probs_<class>`` (H, W) float32,
    ``seg_fields``; of a cache, ``black_box_cache``, its form.

    Args:
        root: Folder of the predictions.
        num_classes: Number of classes K of arrays; a cache knows its own.
        form: 'arrays', 'labels', 'top4' or 'probs'.
        scale: Width and height at which a cache keeps predictions, as in
            ``Resize``.
    """

    def __init__(
        self,
        root: str,
        num_classes: int | None = None,
        form: str = ARRAYS,
        scale: tuple[int, int] | None = None,
    ) -> None:
        one_of((ARRAYS, *FORMS), form=form)
        if (num_classes if form == ARRAYS else scale) is None:
            raise UserError(
                f"LoadBlackBoxProbs(form={form!r}): 'arrays' need "
                'num_classes, the forms of a cache scale=(width, height)'
            )
        self.root = root
        self.num_classes = num_classes
        self.form = form
        self.scale = scale

    def transform(self, results: dict) -> dict:
        """Add the probabilities of each class, (H, W) float32."""
        if results.get('flip'):
            raise UserError(
                'LoadBlackBoxProbs stands behind a flip in the pipeline: '
                'put it before flips, crops and padding.'
            )
        if self.form == ARRAYS:
            probs = self._read_array(results)
        else:
            probs = self._read_cache(results)
            results['black_box_cache'] = self.form
        height, width = results['img_shape'][:2]
        mode = 'nearest' if self.form == 'labels' else 'bilinear'
        planes = {
            f'black_box_probs_{c}': plane
            if plane.shape == (height, width)
            else mmcv.imresize(plane, (width, height), interpolation=mode)
            for c, plane in enumerate(probs)
        }
        results.update(planes)
        results['seg_fields'] = [*results.get('seg_fields', []), *planes]
        return results

    @cached_property
    def _cache_classes(self) -> int:
        """Number of classes of the cache; looked up once per worker."""
        settings = read_settings(self.root)
        made = settings.get('form'), tuple(settings.get('scale', ()))
        if made != (self.form, tuple(self.scale or ())):
            raise UserError(
                f'{self.root} holds predictions of form and scale {made}, '
                f'but LoadBlackBoxProbs has {self.form!r} and {self.scale}: '
                'make them agree.'
            )
        return settings['num_classes']

    def _read_cache(self, results: dict) -> np.ndarray:
        """Probabilities (K, h, w) at the size of the cache."""
        classes = self._cache_classes
        path = cache_file(self.root, sample_key(results), self.form)
        return read_cached(path, self.form, classes)

    def _read_array(self, results: dict) -> np.ndarray:
        """Probabilities (K, H, W) at the size of the image on disk."""
        name = PurePosixPath(sample_key(results)).with_suffix('.npy')
        path = inside(self.root, name)
        if not path.is_file():
            raise MissingFileError(
                f'{path}: no cached prediction for {results["img_path"]}; '
                f'expected an array ({self.num_classes}, height, width)'
            )
        with naming(str(path), 'array of NumPy'):
            values = np.lib.format.open_memmap(path, mode='r')
        expected = (self.num_classes, *results['ori_shape'][:2])
        if values.shape != expected:
            raise UserError(
                f'{path}: cached prediction of shape {values.shape}; '
                f'expected {expected}, the size of {results["img_path"]}'
            )
        steps = 255 if values.dtype == np.uint8 else 1
        probs = values.astype(np.float32) / np.float32(steps)
        # As far from one as 256 rounded classes may be.
        sound = np.abs(probs.sum(0) - 1).max() <= 0.5
        if not sound or probs.min() < 0:
            raise UserError(
                f'{path}: expected probabilities that add up to one, found '
                f'values from {probs.min()} to {probs.max()}'
            )
        return probs


@TRANSFORMS.register_module()
class KeepImageForBlackBox(BaseTransform):
    """Keep the image as it lies on disk: the black box will see it so.

    Put it right behind the transform that loads the image. What follows may
    resize and mirror the image, not crop it.

    Required keys: ``img``. Added keys: ``black_box_image`` (H, W, C) uint8.
    """

    def transform(self, results: dict) -> dict:
        """Keep a reference: transforms replace images, not their pixels."""
        image = results['img']
        if image.dtype != np.uint8 or 'scale_factor' in results:
            raise UserError(
                f'{results.get("img_path", "image")}: KeepImageForBlackBox '
                'needs the 8-bit image of the file; put it right behind '
                f'LoadCheckedImage (found {image.dtype}).'
            )
        results['black_box_image'] = image
        return results
