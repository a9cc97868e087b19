"""One image as the explorer of the report needs it, in short text.

Maps are zlib-compressed bytes in Base64, which browsers unpack by themselves
(``DecompressionStream``). A canvas would read PNG files too, but some
browsers blur what is read from a canvas, and class ids must be exact.
"""

import base64
import zlib
from typing import Any

import cv2
import numpy as np

from ...evaluation import ContourBoxplot, describe_changes
from ..pictures import pick_pixels, shown_size, shrunk

JPEG_QUALITY = 88
REGIONS = ('inner_core', 'inner_union', 'outer_core', 'outer_union')


def pack_image(
    image: Any,
    labels: np.ndarray,
    *,
    ignore_index: int = 255,
    num_bins: int = 10,
    max_side: int = 512,
) -> dict[str, Any]:
    """Reduce an image to what JSON can carry.

    Args:
        image: An `InferenceResult`; that room is below this one.
        labels: The annotators' label maps (A, H, W).
        ignore_index: Id of unlabelled pixels in the labels.
        num_bins: Number of confidence bins.
        max_side: Larger images are made smaller, label maps without
            blending.

    Returns:
        ``maps`` are decision, labels and samples, see `pack_maps`; ``probs``
        whole percents of the classes that reach one, by class id; ``bins``
        the confidence bin of each pixel, ``weights`` the share of all draws
        for which each sample stands.
    """
    height, width = image.decision.shape
    size = shown_size((height, width), max_side)
    dtype = np.uint8 if len(image.classes) < 256 else np.uint16
    ignored = int(np.iinfo(dtype).max)
    labels = np.where(labels == ignore_index, ignored, labels)
    decision, labels, samples = (
        pick_pixels(maps, size).astype(dtype)
        for maps in (image.decision, labels, image.samples)
    )
    confidence = pick_pixels(image.class_probs.max(0), size)
    bins = np.minimum(np.floor(confidence * num_bins), num_bins - 1)
    probs = {
        k: percents(pick_pixels(one, size))
        for k, one in enumerate(image.class_probs)
    }
    return dict(
        name=image.name,
        width=size[1],
        height=size[0],
        full=[width, height],
        annotators=len(labels),
        samples=len(samples),
        wide=dtype is np.uint16,
        ignored=ignored,
        picture=pack_picture(shrunk(image.image, size)),
        maps=pack_maps(decision, np.concatenate([labels, samples])),
        probs={str(k): pack_bytes(p) for k, p in probs.items() if p.any()},
        bins=pack_bytes(bins.astype(np.uint8)),
        weights=np.asarray(image.sample_weights).tolist(),
        hypotheses=[
            dict(
                probability=one.probability,
                members=list(one.members),
                representative=one.representative,
                words=describe_changes(one.changes, image.classes),
            )
            for one in image.hypotheses
        ],
        flips=[state._asdict() for state in image.flip_states],
        boxplot=_packed_boxplot(image.boxplot, size),
        promises=[_packed_promise(one, size) for one in image.promises],
    )


def _packed_promise(promise: Any, size: tuple[int, int]) -> dict[str, Any]:
    """An `ImagePromise`; outer region 1, inner region 2."""
    regions = np.zeros(size, np.uint8)
    for bit, region in ((1, promise.region), (2, promise.inner_region)):
        if region is not None:
            regions |= bit * pick_pixels(region, size).astype(np.uint8)
    return dict(
        class_id=promise.class_id,
        regions=pack_bytes(regions),
        hypotheses=promise.num_hypotheses or 0,
        words=promise.lines(),
    )


def _packed_boxplot(
    box: ContourBoxplot | None, size: tuple[int, int]
) -> dict[str, Any] | None:
    """Regions as bits: inner core 1, inner union 2, outer ones 4 and 8."""
    if box is None:
        return None
    bits = sum(
        getattr(box, name).cpu().numpy().astype(np.uint8) << bit
        for bit, name in enumerate(REGIONS)
    )
    return dict(
        regions=pack_bytes(pick_pixels(np.asarray(bits), size)),
        median=box.median,
        outliers=list(box.outliers),
    )


def pack_bytes(array: np.ndarray) -> str:
    """Compress an array; 16-bit values are little-endian."""
    array = np.ascontiguousarray(array)
    if array.dtype.itemsize > 1:
        array = array.astype(array.dtype.newbyteorder('<'))
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()


def pack_maps(base: np.ndarray, maps: np.ndarray) -> str:
    """Compress label maps as what sets them apart from one of them.

    Args:
        base: The map (H, W) that the others resemble, unsigned.
        maps: Maps (N, H, W) of the same type.

    Returns:
        ``base``, then the maps minus it, modulo the range of the type: most
        values are 0, so that little room is taken.
    """
    return pack_bytes(np.concatenate([base[None], maps - base]))


def pack_picture(picture: np.ndarray) -> str:
    """An RGB picture (H, W, 3) uint8 as a data URL."""
    bgr = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(
        '.jpg', bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )
    return f'data:image/jpeg;base64,{base64.b64encode(data).decode()}'


def percents(probs: np.ndarray) -> np.ndarray:
    """Whole percents, rounded down: at least t exactly if p >= t / 100.

    A rounding error of float32 below a whole percent does not count.
    """
    return np.floor(100 * probs + 1e-4).clip(0, 100).astype(np.uint8)
