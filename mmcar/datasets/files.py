"""Reading images and label maps, with errors that name the file."""

from collections.abc import Sequence

import mmcv
import mmengine.fileio as fileio
import numpy as np

from ..structures import ClassFlips
from ..utils.errors import MissingFileError, UserError


def read_image(
    path: str, color_type: str = 'color', backend_args: dict | None = None
) -> np.ndarray:
    """Read an image, whole or not at all.

    Args:
        path: Image file.
        color_type: 'color' (3 channels, BGR), 'grayscale' or 'unchanged'.
        backend_args: MMEngine's file backend.

    Returns:
        The image (H, W, C), or (H, W) if grey.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is truncated or no image.
    """
    try:
        data = fileio.get(path, backend_args=backend_args)
    except FileNotFoundError as error:
        raise MissingFileError(
            f'{path}: no such file; expected an image or label map that the '
            'data set lists'
        ) from error
    try:
        # Pillow refuses truncated files, which OpenCV 4 fills with grey.
        return mmcv.imfrombytes(data, flag=color_type, backend='pillow')
    except (OSError, SyntaxError) as error:
        raise UserError(
            f'{path}: not a readable image ({error}); expected a complete '
            'PNG, JPEG, BMP or TIFF file. Copy or convert it again'
        ) from error


def read_label(
    path: str,
    label_map: dict[int, int] | None = None,
    num_classes: int | None = None,
    ignore_index: int = 255,
    shape: tuple[int, int] | None = None,
    class_flips: Sequence[tuple] = (),
    backend_args: dict | None = None,
) -> np.ndarray:
    """Read a label map and check it.

    Args:
        path: 8-bit image file with one channel.
        label_map: New ids of ids in the file, applied first.
        num_classes: Number of classes; None skips the check of ids.
        ignore_index: Label of unlabelled pixels.
        shape: Height and width of the image; None skips the check.
        class_flips: Rows of the table, whose twins no file may hold.
        backend_args: MMEngine's file backend.

    Returns:
        The label map, (H, W) uint8.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: Unreadable, or not the label map that is expected.
    """
    label = read_image(path, 'unchanged', backend_args)
    if label.ndim != 2 or label.max(initial=0) > 255:
        raise UserError(
            f'{path}: shape {label.shape} of {label.dtype}; expected a label '
            'map of one 8-bit channel whose values are class ids'
        )
    label = label.astype(np.uint8)
    if shape is not None and label.shape != tuple(shape[:2]):
        raise UserError(
            f'{path}: label map of {label.shape} pixels (height, width); '
            f'expected the size of its image, {tuple(shape[:2])}'
        )
    table = np.arange(256, dtype=np.uint8)
    for old, new in (label_map or {}).items():
        table[old] = new
    label = table[label]
    if num_classes is not None:
        twins = set(ClassFlips.parse(class_flips).twins)
        allowed = {*range(num_classes), ignore_index} - twins
        counts = np.bincount(label.ravel(), minlength=256)
        outside = set(np.flatnonzero(counts).tolist()) - allowed
        if outside:
            never = f', not the twins {sorted(twins)}' if twins else ''
            raise UserError(
                f'{path}: ids {sorted(outside)}; expected 0 to '
                f'{num_classes - 1}{never}, or {ignore_index} for unlabelled '
                'pixels'
            )
    return label
