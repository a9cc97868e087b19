"""From drawn samples to the fields of a data sample."""

import math
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor

from ...sampling.kernels.class_argmax import (
    class_argmax,
    gains_by_tiles,
    row_blocks,
)
from ...structures import is_resized, is_unchanged, to_original
from ...utils.errors import UserError
from .redrawing import redraw_floods
from .sample_maps import SampleMaps, is_whole

SMALLEST = torch.finfo(torch.float32).tiny
"""Probabilities below have no finite logarithm once they are rounded."""


def bounded_logs(log_probs: Tensor) -> Tensor:
    """Log-probabilities, none below that of `SMALLEST`.

    They are not copied where that can be told without a wait for the device,
    and never written to: they may belong to the model.
    """
    least = math.log(SMALLEST)
    looked = is_whole(log_probs) and gains_by_tiles(log_probs.device)
    if looked and bool(log_probs.amin() >= least):
        return log_probs
    return log_probs.clamp_min(least)


@torch.no_grad()
def attach_predictions(
    model: Any, inputs: Tensor, data_samples: Sequence[SegDataSample] | None
) -> list[SegDataSample]:
    """Sample label maps and put every prediction into the data samples.

    The samples' probabilities never exist all at once at full size: they are
    reduced to label maps and a running sum, chunk by chunk.

    Args:
        model: A `StochasticSegmentor`.
        inputs: Normalised images (B, C, H, W).
        data_samples: Their data samples, or None to make new ones.

    Returns:
        The data samples with ``pred_sem_seg`` (1, h, w), ``seg_logits``
        (K, h, w), ``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w),
        and what the model adds to them.
    """
    cfg = model.test_cfg
    state = model.encode(inputs, data_samples)
    number = cfg['num_samples']
    drawn_number = cfg['support_points'] or number
    z = model.draw_noise(inputs, data_samples, drawn_number, (cfg['seed'],))
    outputs = list(data_samples or (SegDataSample() for _ in inputs))
    if cfg['max_class_area'] is not None:
        if model.joint_samples:
            raise UserError(
                f'model.test_cfg.max_class_area={cfg["max_class_area"]}: '
                'samples with exact margins cannot be drawn again one by one; '
                'expected None. A floor of the sampler prevents floods.'
            )
        at_once = samples_at_once(model, inputs, len(z))
        z = redraw_floods(model, state, z, inputs, outputs, at_once)
    drawn = draw_samples(model, state, z, inputs, outputs)
    log_probs = model.log_probs(state)
    extra = model.extra_predictions(state)
    for i, (sample, own) in enumerate(zip(outputs, drawn, strict=True)):
        restore = partial(
            to_original,
            meta=sample.metainfo,
            align_corners=model.align_corners,
        )
        logits = log_probs[i : i + 1]
        if is_resized(inputs, sample.metainfo):
            # What is blended are probabilities.
            logits = restore(logits.exp()).clamp_min_(SMALLEST).log_()
        else:
            logits = bounded_logs(restore(logits))
        sample.set_data(
            dict(
                pred_sem_seg=PixelData(data=class_argmax(logits).long()),
                seg_logits=PixelData(data=logits[0]),
                **own.fields(number),
                **{
                    key: PixelData(data=restore(maps[i : i + 1])[0])
                    for key, maps in extra.items()
                },
            )
        )
    return outputs


def draw_samples(
    model: Any,
    state: Any,
    z: Tensor,
    inputs: Tensor,
    data_samples: Sequence[SegDataSample],
) -> list[SampleMaps]:
    """Draw the samples of every image of a batch, chunk by chunk.

    Args:
        model: A `StochasticSegmentor`.
        state: What it encoded.
        z: Noise (S, B, ...).
        inputs: Images (B, C, H, W), for their size.
        data_samples: Their metainfo says how to restore the original size.

    Returns:
        The samples of each image, at its original size.
    """
    metas = [sample.metainfo for sample in data_samples]
    drawn = [SampleMaps(model.num_classes) for _ in metas]
    restores = [
        partial(to_original, meta=meta, align_corners=model.align_corners)
        for meta in metas
    ]
    chunk_size = samples_at_once(model, inputs, len(z))
    by_rows = (
        model.draws_by_rows
        and not model.one_hot
        and len(metas) == 1
        and gains_by_tiles(inputs.device)
        and is_unchanged(inputs, metas[0])
    )
    for chunk in z.split(chunk_size):
        if by_rows:
            size = inputs.shape[-2:]
            parts = (
                (rows, model.sample_rows(state, chunk, rows)[:, 0])
                for rows in row_blocks(size)
            )
            drawn[0].add_rows(parts, size)
            continue
        draw = model.sample_labels if model.one_hot else model.sample
        maps = draw(state, chunk)
        for i, (own, meta, restore) in enumerate(
            zip(drawn, metas, restores, strict=True)
        ):
            resized = is_resized(inputs, meta)
            if model.one_hot and resized:
                own.add_small_labels(maps[:, i], restore)
            elif model.one_hot:
                own.add_labels(restore(maps[:, i]))
            elif resized:
                own.add_small_probs(maps[:, i], restore)
            else:
                own.add_probs(restore(maps[:, i]))
        del maps  # not to be held while the next chunk is drawn
    for own, restore in zip(drawn, restores, strict=True):
        own.restore_mean(restore)
    return drawn


def cache_bytes() -> int:
    """Second-level cache of a core; 2 MiB where the system does not tell."""
    name = 'SC_LEVEL2_CACHE_SIZE'
    size = os.sysconf(name) if name in os.sysconf_names else 0
    return size if size > 0 else 2**21


def samples_at_once(model: Any, inputs: Tensor, num_samples: int) -> int:
    """Samples to draw at once, as the config says or as fit the cache."""
    if model.joint_samples:
        return num_samples
    return model.test_cfg['samples_per_chunk'] or automatic_chunk(
        model, inputs, num_samples
    )


def automatic_chunk(model: Any, inputs: Tensor, num_samples: int) -> int:
    """Samples to draw at once where the config leaves it open.

    Label maps alone need no chunks. Probabilities of a chunk should stay in
    the cache of a CPU, and within a small part of the memory of a GPU.
    """
    if model.one_hot:
        return num_samples
    budget = cache_bytes() if inputs.device.type == 'cpu' else 2**28
    batch, _, height, width = inputs.shape
    sample = 4 * batch * model.num_classes * height * width
    return min(max(budget // sample, 1), num_samples)
