"""Image files of every kind, made from arrays byte by byte."""

import io
import struct
import zlib

import numpy as np
import tifffile
from PIL import Image

PNG_COLOUR = {1: 0, 2: 4, 3: 2, 4: 6}


def _chunk(kind, data):
    crc = struct.pack('>I', zlib.crc32(kind + data))
    return struct.pack('>I', len(data)) + kind + data + crc


def _png(width, height, bits, colour, rows):
    header = struct.pack('>IIBBBBB', width, height, bits, colour, 0, 0, 0)
    data = zlib.compress(b''.join(b'\0' + row for row in rows))
    chunks = ((b'IHDR', header), (b'IDAT', data), (b'IEND', b''))
    return b'\x89PNG\r\n\x1a\n' + b''.join(_chunk(*c) for c in chunks)


def png16(pixels):
    """A PNG of 16 bits: grey, grey with alpha, RGB or RGBA (H, W, C)."""
    height, width, channels = pixels.shape
    rows = [row.astype('>u2').tobytes() for row in pixels]
    return _png(width, height, 16, PNG_COLOUR[channels], rows)


def few_bits(rows, bits, kind):
    """A grey PNG or TIFF of 1, 2 or 4 bits; rows (H, W) of whole bytes."""
    height, width = rows.shape
    text = [''.join(f'{v:0{bits}b}' for v in row) for row in rows]
    packed = [int(t, 2).to_bytes(len(t) // 8, 'big') for t in text]
    if kind == 'PNG':
        return _png(width, height, bits, 0, packed)
    data = b''.join(packed)
    values = {256: width, 257: height, 258: bits, 259: 1, 262: 1}
    values |= {273: 8, 277: 1, 278: height, 279: len(data)}
    data += b'\0' * (len(data) % 2)
    tags = [struct.pack('<HHII', tag, 4, 1, v) for tag, v in values.items()]
    count = struct.pack('<H', len(tags))
    start = struct.pack('<I', 8 + len(data))
    return b'II*\0' + start + data + count + b''.join(tags) + b'\0' * 4


def pnm(pixels, maximum):
    """A PGM or PPM of 8 or 16 bits."""
    height, width, channels = pixels.shape
    magic = {1: 'P5', 3: 'P6'}[channels]
    text = f'{magic}\n# made by hand\n{width} {height}\n{maximum}\n'
    kind = '>u2' if maximum > 255 else 'u1'
    return text.encode() + pixels.astype(kind).tobytes()


def tiff(pixels, **options):
    """A TIFF of any type and number of channels."""
    if pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    else:
        options.setdefault('planarconfig', 'contig')
        if options['planarconfig'] == 'separate':
            pixels = np.ascontiguousarray(np.moveaxis(pixels, -1, 0))
    options.setdefault('photometric', 'minisblack')
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, pixels, **options)
    return buffer.getvalue()


def by_pillow(pixels, kind, **options):
    buffer = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else None
    image = image or Image.fromarray(pixels)
    image.save(buffer, kind, **options)
    return buffer.getvalue()
