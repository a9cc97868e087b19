"""Samples that flood the picture are drawn again."""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures.floods import floods
from ...structures.geometry import without_padding

TRIES = 32
"""How often a sample is drawn again; one that still floods then stays."""


def redraw_floods(
    model: Any,
    state: Any,
    z: Tensor,
    inputs: Tensor,
    data_samples: Sequence[SegDataSample],
    chunk_size: int,
) -> Tensor:
    """Noise without that of samples in which a class covers too much.

    Such a sample gets other noise, which follows from seed, image and its own
    place like the first: samples stay independent of each other, and fewer
    samples are the first of more.

    Args:
        model: A `StochasticSegmentor`; ``test_cfg.max_class_area`` is the
            largest share of the image (K,) that each class may cover.
        state: What it encoded.
        z: Noise (S, B, ...).
        inputs: Normalised images (B, C, H, W).
        data_samples: Their data samples.
        chunk_size: Samples to draw at once.

    Returns:
        (S, B, ...).
    """
    largest = torch.tensor(model.test_cfg['max_class_area']).double()

    def flood(noise: Tensor) -> Tensor:
        """Which samples flood (s, B), a chunk of label maps at a time."""
        chunks = (
            model.sample_labels(state, chunk)
            for chunk in noise.split(chunk_size)
        )
        return torch.cat(
            [_flooded(labels, data_samples, largest) for labels in chunks]
        )

    flooded = flood(z)
    z = z.clone()
    for attempt in range(1, TRIES + 1):
        rows = flooded.any(1)  # (S,)
        if not rows.any():
            break
        seed = (model.test_cfg['seed'], attempt)
        other = model.draw_noise(inputs, data_samples, len(z), seed)
        again = flooded.to(z.device)
        z[again] = other[again]
        flooded[rows] &= flood(z[rows.to(z.device)])
    return z


def _flooded(
    labels: Tensor, data_samples: Sequence[SegDataSample], largest: Tensor
) -> Tensor:
    """Which samples (S, B, H, W) flood: (S, B), bool, on the CPU."""
    own = [
        floods(without_padding(maps, sample.metainfo), largest)
        for maps, sample in zip(labels.unbind(1), data_samples, strict=True)
    ]
    return torch.stack(own, dim=1).cpu()  # one wait for the device
