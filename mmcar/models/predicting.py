"""From sampled probabilities to the fields of a data sample."""

from collections.abc import Sequence

import torch
from mmengine.structures import PixelData
from mmseg.models.utils import resize
from mmseg.structures import SegDataSample
from torch import Tensor

from .car_head import CARHead

FLIPPED_AXES = dict(horizontal=(-1,), vertical=(-2,), diagonal=(-2, -1))


def to_original(
    probs: Tensor, sample: SegDataSample, align_corners: bool
) -> Tensor:
    """Undo padding, flip and resize of an image's prediction.

    Args:
        probs: Probabilities (N, K, H, W) at the size of the network's input.
        sample: The image's data sample, whose metainfo says what was done.
        align_corners: How to interpolate.

    Returns:
        Probabilities (N, K, h, w) at the image's original size.
    """
    meta = sample.metainfo
    left, right, top, bottom = meta.get(
        'img_padding_size', meta.get('padding_size', (0, 0, 0, 0))
    )
    height, width = probs.shape[-2:]
    probs = probs[..., top : height - bottom, left : width - right]
    if meta.get('flip'):
        probs = probs.flip(FLIPPED_AXES[meta['flip_direction']])
    size = tuple(meta.get('ori_shape', probs.shape[-2:])[:2])
    if size == tuple(probs.shape[-2:]):
        return probs
    return resize(
        probs,
        size=size,
        mode='bilinear',
        align_corners=align_corners,
        warning=False,
    )


@torch.no_grad()
def attach_predictions(
    head: CARHead,
    image: Tensor,
    data_samples: Sequence[SegDataSample] | None,
    test_cfg: dict,
) -> list[SegDataSample]:
    """Sample label maps and put every prediction into the data samples.

    The samples' probabilities never exist all at once at full size: they are
    reduced to label maps and a running sum, chunk by chunk.

    Args:
        head: The sampler.
        image: Normalised images (B, C, H, W).
        data_samples: Their data samples, or None to make new ones.
        test_cfg: ``num_samples``, ``samples_per_chunk`` and ``seed``.

    Returns:
        The data samples with ``pred_sem_seg`` (1, h, w), ``seg_logits``
        (K, h, w), ``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w),
        and ``black_box_probs`` (K_b, h, w) where there is a black box.
    """
    prior = head.predict_black_box(image, data_samples)
    log_probs = head.calibrate(image, data_samples, prior)
    number = test_cfg['num_samples']
    z = head.draw_noise(image, data_samples, number, (test_cfg['seed'],))
    if data_samples is None:
        data_samples = [SegDataSample() for _ in image]
    id_dtype = torch.uint8 if head.num_classes <= 256 else torch.int16
    maps = [[] for _ in data_samples]
    sums = [0.0] * len(data_samples)
    chunk_size = test_cfg['samples_per_chunk'] or number
    for chunk in head.iter_samples(image, log_probs, z, chunk_size):
        for i, sample in enumerate(data_samples):
            probs = to_original(chunk[:, i], sample, head.align_corners)
            maps[i].append(probs.argmax(dim=1).to(id_dtype))
            sums[i] = sums[i] + probs.sum(dim=0)
    for i, sample in enumerate(data_samples):
        probs = log_probs[i : i + 1].exp()
        probs = to_original(probs, sample, head.align_corners)[0]
        tiny = torch.finfo(probs.dtype).tiny
        sample.set_data(
            dict(
                pred_sem_seg=PixelData(data=probs.argmax(0, keepdim=True)),
                seg_logits=PixelData(data=probs.clamp_min(tiny).log()),
                pred_samples=PixelData(data=torch.cat(maps[i])),
                sample_probs=PixelData(data=sums[i] / number),
            )
        )
        if prior is not None:
            # Calibration offsets are read where B is right.
            probs = to_original(prior[i : i + 1], sample, head.align_corners)
            sample.black_box_probs = PixelData(data=probs[0])
    return list(data_samples)
