"""Images as files: read at full depth or refused, written whole."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageOps
from torch import Tensor

from ..structures.colours import visible
from ..utils.errors import MissingFileError, UserError
from ..utils.files import write_files
from .deep_images import DeepImage, decode_deep

# What Pillow calls them; MPO is a JPEG file with previews behind the image.
FORMATS = ('PNG', 'JPEG', 'MPO', 'BMP', 'GIF', 'WEBP', 'TIFF', 'PPM')
DEEP_STEPS = (
    'load it with LoadCheckedImage, followed by WindowIntensity (a fixed '
    'window, e.g. of CT) or NormalizePercentiles (by each image)'
)
COLOR_TYPES = ('color', 'grayscale', 'unchanged')


def read_bytes(path: str, backend_args: dict | None = None) -> bytes:
    """Read a file that a data set lists."""
    try:
        if backend_args is None and '://' not in path:
            return Path(path).read_bytes()
        from mmengine import fileio

        return fileio.get(path, backend_args=backend_args)
    except FileNotFoundError as error:
        raise MissingFileError(
            f'{path}: no such file; expected an image or label map that the '
            'data set lists'
        ) from error


@contextmanager
def naming(path: str, kind: str = 'image') -> Iterator[None]:
    """Let all that goes wrong while a file is decoded name the file."""
    try:
        yield
    except UserError as error:
        raise UserError(f'{path}: {error}') from error
    except Exception as error:
        # Damaged files raise almost anything; the cause is chained.
        raise UserError(
            f'{path}: not a readable {kind} ({error}): copy or make it again'
        ) from error


def open_8bit(data: bytes) -> Image.Image:
    """Open what :func:`decode_deep` left; Pillow decodes it at first use.

    Raises:
        UserError: Of another kind than we know to be read exactly.
        OSError, SyntaxError: No image.
    """
    image = Image.open(io.BytesIO(data))
    if image.format not in FORMATS:
        raise UserError(f'{image.format}; expected one of {FORMATS}')
    if image.mode.startswith(('F', 'I')):  # PFM, which counts as PNM
        raise UserError(
            'values of more than 8 bits in a file that is not read at full '
            'depth; expected PNG or TIFF'
        )
    frames = getattr(image, 'n_frames', 1)
    if frames > 1 and image.format not in ('MPO', 'TIFF'):
        raise UserError(f'{frames} frames; expected one image per file')
    return image


def _channels_of_deep(deep: DeepImage, color_type: str) -> np.ndarray:
    """Bring channels in the file's order (H, W, C) to a colour type."""
    pixels = deep.pixels
    if color_type != 'unchanged' and deep.alpha:
        pixels = pixels[..., :-1]
    channels = pixels.shape[2]
    if channels == 1:
        grey = pixels[..., 0]
        return np.stack([grey] * 3, -1) if color_type == 'color' else grey
    if channels == 3 and color_type != 'grayscale':
        return np.ascontiguousarray(pixels[..., ::-1])
    if color_type == 'unchanged':
        return np.ascontiguousarray(pixels)
    raise UserError(
        f'{channels} channels of {pixels.dtype}; color_type={color_type!r} '
        "takes one channel, or three as colours. color_type='unchanged' "
        'keeps all of them'
    )


def _decode(data: bytes, color_type: str) -> np.ndarray:
    deep = decode_deep(data)
    if deep is not None:
        if not np.isfinite(deep.pixels).all():
            raise UserError('NaN or infinite values; expected finite ones')
        return _channels_of_deep(deep, color_type)
    # Pillow refuses truncated files, which OpenCV 4 fills with grey.
    image = ImageOps.exif_transpose(open_8bit(data))
    if color_type == 'grayscale':
        return np.array(image.convert('L'))
    # Grey with transparency too: mmcv would blend it with a colour.
    if color_type == 'color':
        return np.array(image.convert('RGB'))[..., ::-1]
    if image.mode in ('L', 'LA', 'RGBA', 'CMYK'):
        return np.array(image)
    return np.array(image.convert('RGB'))[..., ::-1]  # palettes, single bits


def read_image(
    path: str, color_type: str = 'color', backend_args: dict | None = None
) -> np.ndarray:
    """Read an image at its full depth, whole or not at all.

    Args:
        path: Image file.
        color_type: 'color' (3 channels, BGR; grey is repeated, transparency
            left out), 'grayscale' or 'unchanged' (all channels; three of
            them as BGR, any other number in the order of the file).
        backend_args: MMEngine's file backend.

    Returns:
        The image (H, W, C), or (H, W) if grey: uint8, or the type that the
        file has (uint16, int16, float32, ...), with its very values.

    Raises:
        MissingFileError: There is no such file.
        UserError: The file is truncated, no image, or one that could not be
            read exactly.
    """
    data = read_bytes(path, backend_args)
    with naming(path):
        return _decode(data, color_type)


def clipped_by(loader: str, dtype: str) -> str | None:
    """What a loader for 8 bits makes of values of a type, if no image."""
    if dtype == 'uint8':
        return None
    return f'values of type {dtype}, which {loader} clips: {DEEP_STEPS}'


def refuse_deep(path: str, loader: str) -> None:
    """Refuse a file of which a loader for 8 bits would lose a part.

    Args:
        path: Image file.
        loader: Name of the loader, for the error.

    Raises:
        UserError: It holds other values than those of 8 bits, or cannot be
            read whole.
    """
    if fault := clipped_by(loader, read_image(path, 'unchanged').dtype.name):
        raise UserError(f'{path}: {fault}')


def input_image(
    inputs: Tensor | Sequence[Tensor], shape: tuple[int, int]
) -> np.ndarray:
    """Show what the model was given as an RGB image.

    Args:
        inputs: Image (C, h, w) before normalisation, BGR if C = 3, or a list
            of its augmented versions.
        shape: Size (H, W) of the predictions.

    Returns:
        RGB (H, W, 3) uint8.
    """
    if not isinstance(inputs, Tensor):
        inputs = inputs[0]
    image = inputs.detach().cpu().numpy().astype(np.float32)
    image = image[::-1] if len(image) == 3 else image[:1]
    return cv2.resize(visible(image.transpose(1, 2, 0)), shape[::-1])


def encode_png(image: np.ndarray) -> bytes:
    """An image (H, W) or (H, W, 3) BGR as the content of a PNG file.

    Args:
        image: uint8 or uint16, which a PNG stores exactly.
    """
    if image.dtype not in (np.uint8, np.uint16):
        raise UserError(f'{image.dtype}; expected uint8 or uint16')
    return cv2.imencode('.png', image)[1].tobytes()


def write_pngs(images: Mapping[Path, np.ndarray]) -> None:
    """Write images one after the other, each whole or not at all.

    Args:
        images: By path, as `encode_png` takes them.
    """
    write_files((path, encode_png(image)) for path, image in images.items())


def write_png(path: Path, image: np.ndarray) -> None:
    """Write one image; see `write_pngs`."""
    write_pngs({path: image})
