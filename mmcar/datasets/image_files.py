"""Images as files: read at full depth or refused, written whole.

Pillow clips 16 bits to 8 without a word in some formats and stretches PNM
files of fewer grey values; OpenCV leaves out channels of some TIFF files. So
each format is read by what reads it exactly, and what nobody does is refused.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import tifffile
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from ..structures.colours import visible
from ..utils.errors import MissingFileError, UserError
from ..utils.files import write_file

PNG_MAGIC = b'\x89PNG\r\n\x1a\n'
TIFF_MAGICS = (b'II*\0', b'MM\0*', b'II+\0', b'MM\0+')
# Bytes of a PNG's header, and its channels by colour type.
PNG_DEPTH, PNG_COLOUR = 24, 25
PNG_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
PNM_HEADER = re.compile(
    rb'P([2356])(?:\s|#[^\n]*\n)+\d+(?:\s|#[^\n]*\n)+\d+'
    rb'(?:\s|#[^\n]*\n)+(\d+)'
)
ORIENTATION, UPRIGHT = 274, 1  # of EXIF and TIFF
ALPHAS = (1, 2)  # extra samples of a TIFF that are transparency
FLAT = ('YX', 'YXS', 'SYX')  # axes of a TIFF
# Of one decoded file; Pillow's limit of pixels, in RGB of 16 bits.
MOST_BYTES = 2**30


def decode_deep(data: bytes) -> tuple[np.ndarray, bool] | None:
    """Decode an image that 8 bits or Pillow's modes cannot hold.

    Args:
        data: Content of the file.

    Returns:
        Pixels (H, W, C) in the file's order, and whether the last channel is
        alpha; None for what Pillow reads exactly.

    Raises:
        UserError: It cannot be read exactly; the message says why.
        Exception: Of almost any kind, where the file is damaged.
    """
    if data.startswith(PNG_MAGIC) and data[PNG_DEPTH:PNG_COLOUR] == b'\x10':
        channels, pixels = PNG_CHANNELS[data[PNG_COLOUR]], as_stored(data)
        if channels == 2:  # OpenCV repeats the grey channel
            pixels = pixels[..., [0, 3]]
        return pixels[..., :channels], channels in (2, 4)
    if (depth := pnm_depth(data)) and depth != 255:
        return as_stored(data), False
    if data.startswith(TIFF_MAGICS):
        return _decode_tiff(data)
    return None


def pnm_depth(data: bytes) -> int | None:
    """The largest value that a grey or colour PNM file may hold."""
    header = PNM_HEADER.match(data)
    return int(header.group(2)) if header else None


def as_stored(data: bytes) -> np.ndarray:
    """Decode a PNG or PNM by OpenCV, (H, W, C) with red first."""
    # OpenCV 4 fills truncated files with grey; Pillow refuses them.
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        size = image.size
        orientation = image.getexif().get(ORIENTATION, UPRIGHT)
    pixels = _by_opencv(data)
    if pixels.shape[1::-1] != size:
        raise OSError('OpenCV cannot decode it')
    return turn(pixels, orientation)


def _by_opencv(data: bytes) -> np.ndarray:
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise OSError('OpenCV cannot decode it')
    if pixels.ndim == 2:
        return pixels[..., None]
    pixels[..., :3] = pixels[..., 2::-1].copy()
    return pixels


def turn(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Show stored pixels as a file's orientation tag says.

    Pillow does so when it reads images of 8 bits; an image and its label map
    must not differ by their depth.

    Args:
        pixels: (H, W, C).
        orientation: From 1, upright, to 8, as in EXIF and TIFF; any other
            counts as upright.
    """
    if orientation in (5, 6, 7, 8):  # rows are columns
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def _decode_tiff(data: bytes) -> tuple[np.ndarray, bool] | None:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages[0]
        same = sum(other.shape == page.shape for other in file.pages)
        if same > 1:
            raise UserError(f'{same} pages; expected one image per file')
        kind = None if page.dtype is None else page.dtype.name
        alphas = [extra in ALPHAS for extra in page.extrasamples]
        shallow = kind in ('uint8', 'bool') and alphas in ([], [True])
        if shallow and page.axes in FLAT:
            return None  # Pillow reads it, as it always did
        _refuse_inexact(page, len(data))
        if page.compression == tifffile.COMPRESSION.LZW:
            # tifffile needs a package more; OpenCV turns what it reads.
            pixels, usual = _by_opencv(data), page.axes == 'YX'
            usual |= page.axes == 'YXS' and page.samplesperpixel == 3
            if not usual or alphas or pixels.dtype != page.dtype:
                raise UserError(f'TIFF of {kind} by LZW; expected no packing')
            return pixels, False
        pixels = page.asarray()
        if page.axes == 'SYX':
            pixels = np.moveaxis(pixels, 0, -1)
        tag = page.tags.get(ORIENTATION)
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    pixels = turn(pixels, UPRIGHT if tag is None else int(tag.value))
    native = pixels.dtype.newbyteorder('=')
    return pixels.astype(native, copy=False), alphas == [True]


def _refuse_inexact(page: tifffile.TiffPage, size: int) -> None:
    """Refuse a page that tifffile would read, but not as it is meant."""
    photometric = tifffile.PHOTOMETRIC
    plain = page.photometric in (photometric.MINISBLACK, photometric.RGB)
    real = page.dtype is not None and page.dtype.kind in 'uif'
    if not plain or not real or page.axes not in FLAT:
        raise UserError(
            f'TIFF of {page.dtype}, axes {page.axes}, {page.photometric!r}; '
            'expected grey values (black is zero), channels or RGB'
        )
    if page.nbytes > MOST_BYTES:
        raise UserError(f'{page.nbytes:.1e} bytes; {MOST_BYTES:.1e} at most')
    ends = zip(page.dataoffsets, page.databytecounts, strict=True)
    if any(not count or start + count > size for start, count in ends):
        raise OSError('image file is truncated')


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
            if Path(path).is_fifo():  # which would be waited for
                raise UserError(f'{path}: a pipe; expected a file')
            return Path(path).read_bytes()
        from mmengine import fileio

        return fileio.get(path, backend_args=backend_args)
    except FileNotFoundError as error:
        raise MissingFileError(f'{path}: no such file') from error


@contextmanager
def naming(path: str, kind: str = 'image') -> Iterator[None]:
    """Let all that goes wrong while a file is decoded name the file."""
    try:
        yield
    except UserError as error:
        raise UserError(f'{path}: {error}') from error
    except Exception as error:
        # Damaged files raise almost anything; the cause is chained.
        unknown = isinstance(error, UnidentifiedImageError)
        why = 'of no known format' if unknown else error
        raise UserError(
            f'{path}: not a readable {kind} ({why}): copy or make it again'
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
        raise UserError('more than 8 bits; expected PNG or TIFF')
    frames = getattr(image, 'n_frames', 1)
    if frames > 1 and image.format not in ('MPO', 'TIFF'):
        raise UserError(f'{frames} frames; expected one image per file')
    return image


def _channels_of_deep(
    pixels: np.ndarray, alpha: bool, color_type: str
) -> np.ndarray:
    """Bring channels in the file's order (H, W, C) to a colour type."""
    if color_type != 'unchanged' and alpha:
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
        f'{channels} channels of {pixels.dtype}; expected one, or three as '
        "colours. color_type='unchanged' keeps all"
    )


def _decode(data: bytes, color_type: str) -> np.ndarray:
    if (deep := decode_deep(data)) is not None:
        if not np.isfinite(deep[0]).all():
            raise UserError('NaN or infinite values; expected finite ones')
        return _channels_of_deep(*deep, color_type)
    # Pillow refuses truncated files, which OpenCV 4 fills with grey.
    image = ImageOps.exif_transpose(open_8bit(data))
    if color_type == 'grayscale':
        return np.array(image.convert('L'))
    plain = image.mode in ('L', 'LA', 'RGBA', 'CMYK')
    if color_type == 'unchanged' and plain:
        return np.array(image)
    # Palettes and single bits; grey with transparency too: mmcv would blend
    # it with a colour.
    return np.array(image.convert('RGB'))[..., ::-1]


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


def write_png(path: Path, image: np.ndarray) -> None:
    """Write one image, whole or not at all; see `encode_png`."""
    write_file(path, encode_png(image))
