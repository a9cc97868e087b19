"""B on images as they lie on disk, by MMSeg's own testing."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from mmengine.dataset import Compose
from mmseg.models.segmentors import BaseSegmentor
from mmseg.registry import TRANSFORMS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures.geometry import MIRRORED_AXES
from ...utils.errors import UserError

# Loading and packing are not B's business here, nor are labels.
OTHERS = ('Load', 'Pack')


def image_transforms(pipeline: Sequence[dict] | None) -> Compose:
    """What a test pipeline of B does to an image, from array to tensor."""

    def is_own(step: dict) -> bool:
        kind = step['type']
        name = kind if isinstance(kind, str) else kind.__name__
        return not name.rpartition('.')[2].startswith(OTHERS)

    steps = [*filter(is_own, pipeline or ()), dict(type='PackSegInputs')]
    return Compose([TRANSFORMS.build(step) for step in steps])


def predict_full_image(
    segmentor: BaseSegmentor,
    transforms: Compose,
    image: Tensor,
    normalize: Callable[[Tensor], Tensor] | None = None,
) -> SegDataSample:
    """Predict as ``tools/test.py`` of MMSeg does.

    Args:
        segmentor: B.
        transforms: See :func:`image_transforms`.
        image: An image as it lies on disk, (C, H, W) uint8, BGR.
        normalize: In place of B's own data preprocessor.

    Returns:
        A data sample with ``pred_sem_seg`` (1, H, W) and ``seg_logits``
        (K_b, H, W); see :func:`to_probs`.
    """
    device = image.device
    array = image.permute(1, 2, 0).cpu().numpy()
    size = array.shape[:2]
    results = dict(img=array, img_shape=size, ori_shape=size)
    packed = transforms(results)
    data = dict(
        inputs=[packed['inputs'].to(device)],
        data_samples=[packed['data_samples']],
    )
    if normalize is None:
        data = segmentor.data_preprocessor(data, False)
    else:
        data['inputs'] = normalize(data['inputs'][0][None].float())
    return segmentor.predict(data['inputs'], data['data_samples'])[0]


def to_probs(predicted: SegDataSample) -> Tensor:
    """Class probabilities (K_b, H, W); one channel becomes two classes."""
    values = predicted.seg_logits.data.float()
    if len(values) == 1:  # MMSeg has already applied a sigmoid
        return torch.cat([1 - values, values])
    return values.softmax(dim=0)


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
            f'image, of which the pipeline left {tuple(size)} pixels where '
            f'{tuple(round(e) for e in expected)} were expected: it may '
            'resize and mirror after KeepImageForBlackBox, not crop or pad. '
            'For training on crops, use LoadBlackBoxProbs.'
        )
    probs = resize_probs(probs, size)
    if meta.get('flip'):
        probs = probs.flip(MIRRORED_AXES[meta['flip_direction']])
    return probs
