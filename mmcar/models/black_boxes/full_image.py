"""B on images as they lie on disk, by MMSeg's own testing."""

from collections.abc import Sequence

import torch.nn.functional as F
from mmengine.dataset import Compose
from mmseg.registry import TRANSFORMS
from torch import Tensor

from ...structures.geometry import MIRRORED_AXES
from ...utils.errors import UserError

# Loading and packing are not B's business here, nor are labels.
OTHERS = ('Load', 'Pack')


def image_transforms(pipeline: Sequence[dict] | None) -> Compose:
    """What a test pipeline of B does to an image, from array to tensor."""
    steps: list[dict] = []
    for step in pipeline or ():
        name = getattr(step['type'], '__name__', step['type'])
        if not name.rpartition('.')[2].startswith(OTHERS):
            steps.append(step)
    steps.append(dict(type='PackSegInputs'))
    return Compose([TRANSFORMS.build(step) for step in steps])


def resize_probs(probs: Tensor, size: tuple[int, int]) -> Tensor:
    """Bring probabilities (K, H, W) to a size, averaging where it shrinks."""
    if tuple(probs.shape[1:]) == tuple(size):
        return probs
    resized = F.interpolate(
        probs[None], size, mode='bilinear', antialias=True
    )[0]
    return resized / resized.sum(0)


def follow_image(probs: Tensor, meta: dict, size: tuple[int, int]) -> Tensor:
    """Bring B's probabilities to where the pipeline brought the image.

    Args:
        probs: Of the image as it lies on disk, (K, H, W).
        meta: Metainfo of the image after the pipeline.
        size: Height and width of the image after the pipeline.

    Returns:
        (K, h, w).

    Raises:
        UserError: The image was cropped or padded on the way.
    """
    width, height = meta.get('scale_factor', (1, 1))
    expected = probs.shape[1] * height, probs.shape[2] * width
    if any(abs(s - e) > 1 for s, e in zip(size, expected, strict=True)):
        raise UserError(
            f'{meta.get("img_path", "image")}: the black box sees the whole '
            f'image, of which the pipeline left {tuple(size)} pixels: it may '
            'resize and mirror after KeepImageForBlackBox, not crop or pad. '
            'For training on crops, use LoadBlackBoxProbs.'
        )
    probs = resize_probs(probs, size)
    if meta.get('flip'):
        probs = probs.flip(MIRRORED_AXES[meta['flip_direction']])
    return probs
