"""From drawn samples to the fields of a data sample."""

from collections.abc import Sequence
from typing import Any

import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import is_resized, to_original


class SampleMaps:
    """Label maps of one image's samples, and the mean of their probabilities.

    Args:
        num_classes: Number of classes K.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self.id_dtype = torch.uint8 if num_classes <= 256 else torch.int16
        self.maps: list[Tensor] = []
        self.total: Tensor | float = 0.0

    def add_probs(self, probs: Tensor) -> None:
        """Add samples by their probabilities (s, K, h, w)."""
        self.maps.append(probs.argmax(dim=1).to(self.id_dtype))
        self.total = self.total + probs.sum(dim=0)

    def add_labels(self, labels: Tensor) -> None:
        """Add samples by their label maps (s, h, w)."""
        self.maps.append(labels.to(self.id_dtype))
        counts = torch.zeros(
            self.num_classes, *labels.shape[1:], device=labels.device
        )
        ones = torch.ones_like(labels, dtype=counts.dtype)
        self.total = self.total + counts.scatter_add_(0, labels, ones)

    def fields(self) -> dict[str, PixelData]:
        """``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w)."""
        maps = torch.cat(self.maps)
        return dict(
            pred_samples=PixelData(data=maps),
            sample_probs=PixelData(data=self.total / len(maps)),
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
    z = model.draw_noise(inputs, data_samples, number, (cfg['seed'],))
    outputs = list(data_samples or (SegDataSample() for _ in inputs))
    drawn = draw_samples(model, state, z, inputs, outputs)
    class_probs = model.log_probs(state).exp()
    extra = model.extra_predictions(state)
    for i, (sample, own) in enumerate(zip(outputs, drawn, strict=True)):
        meta = sample.metainfo

        def original(maps: Tensor, i: int = i, meta: dict = meta) -> Tensor:
            return to_original(maps[i : i + 1], meta, model.align_corners)[0]

        probs = original(class_probs)
        tiny = torch.finfo(probs.dtype).tiny
        sample.set_data(
            dict(
                pred_sem_seg=PixelData(data=probs.argmax(0, keepdim=True)),
                seg_logits=PixelData(data=probs.clamp_min(tiny).log()),
                **own.fields(),
                **{k: PixelData(data=original(m)) for k, m in extra.items()},
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
    # Label maps cannot be resized without blocks; probabilities can.
    labels_do = model.one_hot and not any(
        is_resized(inputs, meta) for meta in metas
    )
    drawn = [SampleMaps(model.num_classes) for _ in metas]
    for chunk in z.split(model.test_cfg['samples_per_chunk'] or len(z)):
        if labels_do:
            maps = model.sample_labels(state, chunk)
        else:
            maps = model.sample(state, chunk)
        for i, (own, meta) in enumerate(zip(drawn, metas, strict=True)):
            part = to_original(maps[:, i], meta, model.align_corners)
            if labels_do:
                own.add_labels(part)
            else:
                own.add_probs(part)
    return drawn
