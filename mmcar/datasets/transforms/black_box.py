"""Predictions of a black box that come along with an image.

A cache folder holds ``settings.json``, which says what made it, and one file
per image, small and of known loss, named by its sample key.
"""

import io
import zipfile
from functools import cached_property
from pathlib import Path, PurePosixPath

import mmcv
import numpy as np
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...structures import sample_key
from ...utils.checks import one_of
from ...utils.errors import MissingFileError, UserError
from ...utils.files import inside, read_json
from ..image_files import MOST_BYTES, encode_png, naming, open_8bit

SETTINGS = 'settings.json'
TOP = 4
FORMS = {
    'labels': 'the most probable class, 8 bits',
    'top4': 'the four most probable classes in steps of 1/255, the rest '
    'shared equally by the others',
    'probs': 'all classes in steps of 1/255',
}
ENDS = {  # the last bytes of a file
    '.png': b'\0\0\0\0IEND\xaeB`\x82',
    '.npz': b'PK\5\6',  # of the record that ends a zip file
}
ZIP_RECORD = 22  # its bytes; NumPy adds no comment
MISSING, CUT = 'missing', 'cut short'
STALE = 'older than its image'
COMMAND = 'run tools/cache_black_box.py CONFIG'


def cache_file(folder: str | Path, key: str, form: str) -> Path:
    """The file of an image with a sample key."""
    suffix = '.png' if form == 'labels' else '.npz'
    return inside(folder, PurePosixPath(key).with_suffix(suffix))


def cache_fault(path: Path, image: str) -> str | None:
    """Say why the prediction of an image has to be made anew, if it has.

    Nothing is decoded: thousands of files take less than a second.

    Args:
        path: File of the prediction.
        image: Path of the image.

    Returns:
        `MISSING`, `CUT`, `STALE`, or None for one that is fine.
    """
    if not path.is_file():
        return MISSING
    end = ENDS[path.suffix]
    length = ZIP_RECORD if path.suffix == '.npz' else len(end)
    made = path.stat()
    with open(path, 'rb') as file:
        file.seek(max(made.st_size - length, 0))
        tail = file.read()
    if len(tail) != length or not tail.startswith(end):
        return CUT
    seen = Path(image)
    late = seen.is_file() and seen.stat().st_mtime_ns > made.st_mtime_ns
    return STALE if late else None


def read_settings(folder: str | Path) -> dict:
    """What a cache folder was made with.

    Raises:
        MissingFileError: The folder is no cache.
        UserError: Its settings cannot be read.
    """
    path = Path(folder) / SETTINGS
    if not path.is_file():
        raise MissingFileError(
            f'{folder} is no cache of a black box: {COMMAND}'
        )
    settings = read_json(path)
    if not isinstance(settings.get('num_classes'), int):
        raise UserError(f'{path}: expected num_classes; {COMMAND} anew.')
    return settings


def encode(probs: np.ndarray, form: str) -> bytes:
    """The content of one file.

    Args:
        probs: Probabilities (K, H, W), at most 256 classes.
        form: One of ``FORMS``.
    """
    if form == 'labels':
        ids = probs.argmax(0).astype(np.uint8)
        return encode_png(ids)
    steps = np.round(probs * 255).astype(np.uint8)
    arrays = dict(probs=steps)
    if form == 'top4':
        ids = np.argsort(-probs, axis=0, kind='stable')[:TOP]
        arrays = dict(
            ids=ids.astype(np.uint8),
            probs=np.take_along_axis(steps, ids, axis=0),
        )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def decode(data: bytes, form: str, num_classes: int) -> np.ndarray:
    """Probabilities (K, H, W) float32 of one file; they sum to one.

    Args:
        data: The content of the file.
        form: One of ``FORMS``.
        num_classes: Number of classes K.
    """
    if form == 'labels':
        ids = np.array(open_8bit(data))
        if ids.ndim != 2 or ids.max() >= num_classes:
            raise ValueError(f'no label map of {num_classes} classes')
        planes = np.arange(num_classes)[:, None, None]
        return (ids == planes).astype(np.float32)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(file.file_size for file in archive.infolist())
        if unpacked > MOST_BYTES:
            raise ValueError(f'{unpacked} bytes, unpacked')
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        steps = arrays['probs']
        _check_steps(steps)
        probs = steps.astype(np.float32) / np.float32(255)
        if form == 'top4':
            probs = _spread(arrays['ids'], probs, num_classes)
    if len(probs) != num_classes:
        raise ValueError(f'array {probs.shape}, not {num_classes} classes')
    return probs / probs.sum(0)


def _check_steps(steps: np.ndarray) -> None:
    """Refuse what `encode` does not write: other numbers than its steps."""
    if steps.dtype != np.uint8 or steps.ndim != 3 or not steps.size:
        raise ValueError(f'array {steps.shape} of {steps.dtype}, not of steps')
    total = steps.sum(0, dtype=np.int64)
    # Rounding adds half a step to each class at most.
    if not steps.any(0).all() or 2 * (total.max() - 255) > len(steps):
        raise ValueError(f'sums of {total.min()} to {total.max()} / 255')


def _spread(ids: np.ndarray, top: np.ndarray, num_classes: int) -> np.ndarray:
    """All classes (K, H, W) from the top ones (k, H, W)."""
    others, order = num_classes - len(ids), np.sort(ids, axis=0)
    sound = ids.dtype == np.uint8 and ids.shape == top.shape
    if not sound or (order[1:] == order[:-1]).any():
        raise ValueError(f'ids {ids.shape} of {ids.dtype}, not each once')
    rest = (1 - top.sum(0)).clip(0) / max(others, 1)
    full = np.broadcast_to(rest, (num_classes, *rest.shape)).copy()
    np.put_along_axis(full, ids.astype(np.int64), top, axis=0)
    return full


def read_cached(path: Path, form: str, num_classes: int) -> np.ndarray:
    """Read the probabilities (K, H, W) float32 of one image.

    Raises:
        MissingFileError: There is no such file.
        UserError: It is not what the cache should hold.
    """
    if not path.is_file():
        raise MissingFileError(f'{path} is missing: {COMMAND}.')
    with naming(str(path), 'file of the cache'):
        return decode(path.read_bytes(), form, num_classes)


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
        self.root, self.num_classes = root, num_classes
        self.form, self.scale = form, scale

    def transform(self, results: dict) -> dict:
        """Add the probabilities of each class, (H, W) float32."""
        if results.get('flip'):
            raise UserError('put LoadBlackBoxProbs before flips and crops.')
        if self.form == ARRAYS:
            probs = self._read_array(results)
        else:
            path = cache_file(self.root, sample_key(results), self.form)
            probs = read_cached(path, self.form, self._cache_classes)
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
                f'{self.root} is of form and scale {made}, LoadBlackBoxProbs '
                f'of {self.form!r} and {self.scale}: make them agree.'
            )
        return settings['num_classes']

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
            raise UserError(f'{path}: expected probabilities')
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
                f'{results.get("img_path", "image")}: {image.dtype}; put '
                'KeepImageForBlackBox right behind an image of 8 bits'
            )
        results['black_box_image'] = image
        return results
