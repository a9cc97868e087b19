"""Images of more than 8 bits or other than 1, 3 or 4 channels.

Pillow, which reads all others, clips 16 bits to 8 without a word in some
formats and stretches PNM files of fewer grey values; OpenCV leaves out
channels of some TIFF files. So each format is
read here by what reads it exactly, and what nobody does is refused.
"""

import io
import re
from typing import NamedTuple

import cv2
import numpy as np
import tifffile
from PIL import Image

from ..utils.errors import UserError

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


class DeepImage(NamedTuple):
    """Pixels (H, W, C) in the file's order; is the last channel alpha?"""

    pixels: np.ndarray
    alpha: bool


def decode_deep(data: bytes) -> DeepImage | None:
    """Decode an image that 8 bits or Pillow's modes cannot hold.

    Args:
        data: Content of the file.

    Returns:
        The image, or None for what Pillow reads exactly.

    Raises:
        UserError: It cannot be read exactly; the message says why.
        Exception: Of almost any kind, where the file is damaged.
    """
    if data.startswith(PNG_MAGIC) and data[PNG_DEPTH:PNG_COLOUR] == b'\x10':
        return _decode_png(data)
    if (depth := pnm_depth(data)) and depth != 255:
        return DeepImage(as_stored(data), alpha=False)
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
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.shape[1::-1] != size:
        raise OSError('OpenCV cannot decode it')
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    else:
        pixels[..., :3] = pixels[..., 2::-1].copy()
    return turn(pixels, orientation)


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


def _decode_png(data: bytes) -> DeepImage:
    channels = PNG_CHANNELS[data[PNG_COLOUR]]
    pixels = as_stored(data)
    if channels == 2:  # OpenCV repeats the grey channel
        pixels = pixels[..., [0, 3]]
    return DeepImage(pixels[..., :channels], alpha=channels in (2, 4))


def _decode_tiff(data: bytes) -> DeepImage | None:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages[0]
        same = sum(other.shape == page.shape for other in file.pages)
        if same > 1:
            raise UserError(
                f'{same} pages; expected one image per file. Split it, or '
                'save the channels in one page'
            )
        kind = None if page.dtype is None else page.dtype.name
        alphas = [extra in ALPHAS for extra in page.extrasamples]
        if (
            page.axes in FLAT
            and kind in ('uint8', 'bool')
            and alphas in ([], [True])
        ):
            return None  # Pillow reads it, as it always did
        _refuse_inexact(page, len(data))
        pixels = page.asarray()
        if page.axes == 'SYX':
            pixels = np.moveaxis(pixels, 0, -1)
        tag = page.tags.get(ORIENTATION)
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    pixels = turn(pixels, UPRIGHT if tag is None else int(tag.value))
    native = pixels.dtype.newbyteorder('=')
    return DeepImage(pixels.astype(native, copy=False), alphas == [True])


def _refuse_inexact(page: tifffile.TiffPage, size: int) -> None:
    """Refuse a page that tifffile would read, but not as it is meant."""
    photometric = tifffile.PHOTOMETRIC
    plain = page.photometric in (photometric.MINISBLACK, photometric.RGB)
    real = page.dtype is not None and page.dtype.kind in 'uif'
    if not plain or not real or page.axes not in FLAT:
        raise UserError(
            f'TIFF of {page.dtype}, axes {page.axes}, {page.photometric!r}; '
            'expected plain grey values (black is zero), channels or RGB, of '
            'integers or real numbers'
        )
    if page.nbytes > MOST_BYTES:
        raise UserError(
            f'TIFF of {page.shape} {page.dtype}, {page.nbytes:.1e} bytes; '
            f'expected at most {MOST_BYTES:.1e}. Cut it into pieces'
        )
    ends = zip(page.dataoffsets, page.databytecounts, strict=True)
    if any(not count or start + count > size for start, count in ends):
        raise OSError('image file is truncated')
