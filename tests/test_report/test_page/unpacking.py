"""What a browser does with a packed image, in Python."""

import base64
import zlib

import numpy as np


def unpack(text, dtype=np.uint8):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def unpack_maps(packed):
    """Decision (H, W), labels (A, H, W) and samples (S, H, W)."""
    dtype = np.dtype('<u2') if packed['wide'] else np.uint8
    shape = (-1, packed['height'], packed['width'])
    maps = unpack(packed['maps'], dtype).reshape(shape).copy()
    maps[1:] += maps[0]
    annotators = packed['annotators']
    return maps[0], maps[1 : 1 + annotators], maps[1 + annotators :]
