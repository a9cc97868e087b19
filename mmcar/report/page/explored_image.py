"""One image as the explorer of the report needs it."""

from typing import Any

import cv2
import numpy as np

from ...evaluation import ContourBoxplot, describe_changes
from .encoding import (
    pack_bytes,
    pack_maps,
    pack_picture,
    percents,
    pick_pixels,
    shown_size,
)


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
    picture = image.image
    if picture.shape[:2] != size:
        picture = cv2.resize(picture, size[::-1], interpolation=cv2.INTER_AREA)
    return dict(
        name=image.name,
        width=size[1],
        height=size[0],
        full=[width, height],
        annotators=len(labels),
        samples=len(samples),
        wide=dtype is np.uint16,
        ignored=ignored,
        picture=pack_picture(picture),
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
    )


def _packed_boxplot(
    box: ContourBoxplot | None, size: tuple[int, int]
) -> dict[str, Any] | None:
    """Regions as bits: inner core 1, inner union 2, outer ones 4 and 8."""
    if box is None:
        return None
    regions = (
        box.inner_core,
        box.inner_union,
        box.outer_core,
        box.outer_union,
    )
    bits = sum(
        region.cpu().numpy().astype(np.uint8) << bit
        for bit, region in enumerate(regions)
    )
    return dict(
        regions=pack_bytes(pick_pixels(np.asarray(bits), size)),
        median=box.median,
        outliers=list(box.outliers),
        depths=[round(depth, 4) for depth in box.depths.tolist()],
    )
