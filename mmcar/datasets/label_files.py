"""Reading label maps: class ids, exactly as they were stored."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
from PIL import ImageOps

from ..structures import ClassFlips
from ..utils.errors import UserError
from . import image_files as images

LABEL_SUFFIXES = ('.png', '.tif', '.tiff', '.bmp', '.gif')
LABEL_SUFFIXES += ('.pgm', '.ppm', '.pnm')
LOSSY = ('JPEG', 'MPO', 'WEBP')
WHITE_IS_ZERO = 0  # of a TIFF's tag 262, photometric interpretation
BITS_PER_SAMPLE = 258  # a tag of a TIFF


def _decode(data: bytes) -> np.ndarray:
    """The stored ids, (H, W) for one channel, else (H, W, C)."""
    deep = images.decode_deep(data)
    if deep is not None or images.pnm_depth(data):
        # Of PNM files of 8 bits Pillow would stretch the ids to 255.
        pixels = images.as_stored(data) if deep is None else deep[0]
        return pixels[..., 0] if pixels.shape[2] == 1 else pixels
    image = images.open_8bit(data)
    if image.format in LOSSY or image.info.get('compression') == 'jpeg':
        raise UserError(
            f'a label map in {image.format}, which changes ids. Make it '
            'again from its source, as PNG: ids do not come back'
        )
    if image.format == 'PPM':
        raise UserError('a bitmap (PBM); expected a label map in PNG')
    tags = getattr(image, 'tag_v2', {})
    if tags.get(262) == WHITE_IS_ZERO:
        raise UserError('TIFF whose zero is white; expected plain class ids')
    if image.format == 'GIF' and image.mode != 'L':
        # Its writer numbers the indices freely.
        rgb = np.array(image.convert('RGB'))
        if (rgb != rgb[..., :1]).any():
            raise UserError('a GIF in colours; expected grey class ids')
        return rgb[..., 0]
    # Turned as its image is; of a palette the indices.
    label = np.array(ImageOps.exif_transpose(image))
    bits = int(np.ravel(tags.get(BITS_PER_SAMPLE, 8))[0])
    if data.startswith(images.PNG_MAGIC):
        bits = data[images.PNG_DEPTH]
    if image.mode == 'L' and bits < 8:
        label //= 255 // (2**bits - 1)  # Pillow has stretched them
    return label


def read_label(
    path: str,
    label_map: Mapping[int, int] | None = None,
    num_classes: int | None = None,
    ignore_index: int = 255,
    shape: tuple[int, int] | None = None,
    class_flips: Sequence[tuple] = (),
    backend_args: dict | None = None,
) -> np.ndarray:
    """Read a label map and check it.

    Args:
        path: Image file with one channel of ids up to 255.
        label_map: New ids of ids in the file, applied first.
        num_classes: Number of classes; None skips the check of ids.
        ignore_index: Label of unlabelled pixels.
        shape: Height and width of the image; None skips the check.
        class_flips: Rows of the table, whose twins no file may hold.
        backend_args: MMEngine's file backend.

    Returns:
        The label map, (H, W) uint8.

    Raises:
        MissingFileError: There is no such file.
        UserError: Unreadable, or not the label map that is expected.
    """
    data = images.read_bytes(path, backend_args)
    with images.naming(path):
        label = _decode(data)
        if label.ndim != 2 or label.dtype.kind not in 'bui':
            raise UserError(
                f'shape {label.shape} of {label.dtype}; expected a label map '
                'of one channel whose values are class ids'
            )
        low, high = int(label.min()), int(label.max())
        if low < 0 or high > 255:
            raise UserError(f'ids from {low} to {high}; expected 0 to 255')
    if shape is not None and label.shape != tuple(shape[:2]):
        raise UserError(
            f'{path}: label map of {label.shape} pixels (height, width); '
            f'expected the size of its image, {tuple(shape[:2])}'
        )
    table = np.arange(256, dtype=np.uint8)
    for old, new in (label_map or {}).items():
        table[old] = new
    label = cv2.LUT(label.astype(np.uint8), table)
    if num_classes is None:
        return label
    twins = set(ClassFlips.parse(class_flips).twins)
    allowed = {*range(num_classes), ignore_index} - twins
    if outside := ids_in(label) - allowed:
        raise UserError(
            f'{path}: ids {sorted(outside)}; expected 0 to {num_classes - 1}, '
            f'no twins {sorted(twins)}, {ignore_index} for unlabelled pixels; '
            'name classes in metainfo.classes, or change ids by label_map'
        )
    return label


def ids_in(labels: np.ndarray) -> set[int]:
    """The ids that occur in maps (..., H, W) uint8."""
    rows = labels.reshape(-1, labels.shape[-1])  # bincount would take 8 bytes
    counts = cv2.calcHist([rows], [0], None, [256], [0, 256])
    return {*np.flatnonzero(counts).tolist()}


def reader_of(record: Mapping, **options: Any) -> Callable[[str], np.ndarray]:
    """How the label maps of an image are read.

    Args:
        record: The image, in a data set's list or in its pipeline.
        options: Of `read_label`, beside what the record says.
    """
    keys = {'label_map', 'num_classes', 'class_flips'} & record.keys()
    return partial(read_label, **{k: record[k] for k in keys}, **options)
