"""Files of cached predictions of a black box, small and of known loss.

A cache folder holds ``settings.json``, which says what made it, and one file
per image, named by its sample key.
"""

import io
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np

from ..utils.errors import MissingFileError, UserError
from ..utils.files import inside, read_json
from .deep_images import MOST_BYTES
from .image_files import encode_png, naming, open_8bit

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
    if seen.is_file() and seen.stat().st_mtime_ns > made.st_mtime_ns:
        return STALE
    return None


def read_settings(folder: str | Path) -> dict:
    """What a cache folder was made with.

    Raises:
        MissingFileError: The folder is no cache.
        UserError: Its settings cannot be read.
    """
    path = Path(folder) / SETTINGS
    if not path.is_file():
        raise MissingFileError(
            f'{folder} holds no cache of a black box: {COMMAND} with the '
            'config of the training; tools/train.py does it by itself.'
        )
    try:
        settings = read_json(path)
        return {**settings, 'num_classes': int(settings['num_classes'])}
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise UserError(
            f'{path} is not readable ({error!r}): delete {folder} and '
            f'{COMMAND} again.'
        ) from error


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
        raise ValueError(
            f'array {steps.shape} of {steps.dtype}, not of steps of 1/255'
        )
    total = steps.sum(0, dtype=np.int64)
    # Rounding adds half a step to each class at most.
    if not steps.any(0).all() or 2 * (total.max() - 255) > len(steps):
        raise ValueError(
            f'probabilities that add up to {total.min() / 255:.3g} to '
            f'{total.max() / 255:.3g}'
        )


def _spread(ids: np.ndarray, top: np.ndarray, num_classes: int) -> np.ndarray:
    """All classes (K, H, W) from the top ones (k, H, W)."""
    others = num_classes - len(ids)
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
        raise MissingFileError(
            f'{path} is missing: {COMMAND}, which completes the cache.'
        )
    with naming(str(path), 'file of the cache'):
        return decode(path.read_bytes(), form, num_classes)
