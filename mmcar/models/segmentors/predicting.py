"""From drawn samples to the fields of a data sample."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import is_resized, to_original
from ...utils.class_argmax import (
    class_argmax,
    class_counts,
    gains_by_tiles,
    label_dtype,
)
from ...utils.support_points import representative

SMALLEST = torch.finfo(torch.float32).tiny
"""Probabilities below have no finite logarithm once they are rounded."""


def is_whole(maps: Tensor) -> bool:
    """Whether maps share their memory with nothing else.

    A part of a batch that is kept or saved takes all of the batch with it.
    """
    return maps.untyped_storage().nbytes() == maps.nbytes


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


class SampleMaps:
    """Label maps of one image's samples, and the mean of their probabilities.

    Args:
        num_classes: Number of classes K.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self.id_dtype = label_dtype(num_classes)
        self.maps: list[Tensor] = []
        self.total: Tensor | None = None

    def add_probs(self, probs: Tensor) -> None:
        """Add samples by their probabilities (s, K, h, w)."""
        self.maps.append(class_argmax(probs))
        self._add(probs.sum(dim=0) if len(probs) > 1 else probs[0])

    def add_labels(self, labels: Tensor) -> None:
        """Add samples by their label maps (s, h, w)."""
        self.maps.append(labels.to(self.id_dtype))

    def add_small_labels(
        self, labels: Tensor, restore: Callable[[Tensor], Tensor]
    ) -> None:
        """Add samples by label maps (s, H, W) of the network's input size.

        As if their one-hot form were resized as probabilities, but one class
        at a time, and only the classes that occur.

        Args:
            labels: Label maps.
            restore: Brings maps (1, 1, H, W) to the image's original size.
        """
        for one in labels:
            ids = one.unique().tolist()
            maps = (restore((one == k).float()[None, None]) for k in ids)
            self.maps.append(self._largest(maps, ids)[None])

    def _largest(self, maps: Iterator[Tensor], ids: list[int]) -> Tensor:
        """Id of the largest map (1, 1, h, w) at each pixel, (h, w)."""
        best = label = None
        for index, scores in zip(ids, (m[0, 0] for m in maps), strict=True):
            if best is None:
                best = torch.zeros_like(scores)
                label = torch.zeros_like(scores, dtype=self.id_dtype)
            if self.total is None:
                self.total = scores.new_zeros(self.num_classes, *scores.shape)
            self.total[index] += scores
            label.masked_fill_(scores > best, index)
            torch.maximum(best, scores, out=best)
        return label

    def _add(self, probs: Tensor) -> None:
        if self.total is None:
            self.total = torch.zeros_like(probs)
        self.total += probs

    def fields(self, number: int) -> dict[str, PixelData]:
        """``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w).

        Args:
            number: How many samples to keep, S. If more were drawn, it is
                those that stand for all best; the mean is that of all.
        """
        maps = self.maps[0]
        if len(self.maps) > 1 or not is_whole(maps):
            maps = torch.cat(self.maps)
        total = self.total
        if total is None:
            total = class_counts(maps, self.num_classes)
        mean = total.div_(len(maps))
        if number < len(maps):
            maps = representative(maps, number, self.num_classes)
        return dict(
            pred_samples=PixelData(data=maps),
            sample_probs=PixelData(data=mean),
        )


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
    chunk_size = model.test_cfg['samples_per_chunk'] or automatic_chunk(
        model, inputs, len(z)
    )
    for chunk in z.split(chunk_size):
        draw = model.sample_labels if model.one_hot else model.sample
        maps = draw(state, chunk)
        for i, (own, meta) in enumerate(zip(drawn, metas, strict=True)):
            restore = partial(
                to_original, meta=meta, align_corners=model.align_corners
            )
            if not model.one_hot:
                own.add_probs(restore(maps[:, i]))
            elif is_resized(inputs, meta):
                own.add_small_labels(maps[:, i], restore)
            else:
                own.add_labels(restore(maps[:, i]))
        del maps  # not to be held while the next chunk is drawn
    return drawn


def cache_bytes() -> int:
    """Second-level cache of a core; 2 MiB where the system does not tell."""
    name = 'SC_LEVEL2_CACHE_SIZE'
    size = os.sysconf(name) if name in os.sysconf_names else 0
    return size if size > 0 else 2**21


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
