"""Samples of one image as label maps, and the mean of their probabilities."""

from collections.abc import Mapping
from functools import partial

import torch
from mmengine.structures import PixelData
from torch import Tensor

from ...sampling import representative
from ...sampling.kernels import (
    class_argmax,
    class_counts,
    gains_by_tiles,
    label_dtype,
)
from ...structures import is_resized, to_original


class SampleMaps:
    """Collects the samples of one image, at its original size.

    Args:
        num_classes: Number of classes K.
        inputs: The network's input (B, C, H, W), for its size.
        meta: Metainfo of the image.
        align_corners: How to resize.
    """

    def __init__(
        self,
        num_classes: int,
        inputs: Tensor,
        meta: Mapping,
        align_corners: bool,
    ) -> None:
        self.num_classes = num_classes
        self.resized = is_resized(inputs, meta)
        self.restore = partial(
            to_original, meta=meta, align_corners=align_corners
        )
        self.maps: list[Tensor] = []
        self.total: Tensor | None = None

    def _keep(self, maps: Tensor) -> None:
        """Take over label maps (s, h, w) of the original size."""
        maps = maps.to(label_dtype(self.num_classes))
        # A part of a batch would take all of the batch with it.
        whole = maps.untyped_storage().nbytes() == maps.nbytes
        self.maps.append(maps if whole else maps.clone())

    def add_probs(self, probs: Tensor) -> None:
        """Add samples by their probabilities (s, K, H, W).

        What takes long is resizing: of each sample only the classes that may
        win are brought to the original size, and of the mean of resized
        samples, which is their mean resized, no more than that.
        """
        if self.resized:
            for one in probs:
                ids = possible_classes(one)
                some = one[ids] if len(ids) < self.num_classes else one
                self._keep(class_argmax(self.restore(some[None]), ids))
        else:
            probs = self.restore(probs)
            self._keep(class_argmax(probs))
        if self.total is None:
            self.total = torch.zeros_like(probs[0])
        self.total += probs.sum(dim=0) if len(probs) > 1 else probs[0]

    def add_labels(self, labels: Tensor) -> None:
        """Add samples by their label maps (s, H, W), one-hot if resized."""
        if not self.resized:
            self._keep(self.restore(labels))
            return
        ids = torch.arange(self.num_classes, device=labels.device)
        for one in labels:
            self.add_probs((one == ids.view(-1, 1, 1)).float()[None])

    def fields(self, number: int) -> dict[str, PixelData | Tensor]:
        """``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w).

        Args:
            number: How many samples to keep, S. If more were drawn, it is
                those that stand for all best; ``sample_weights`` (S,) then
                says for which share of them, and the mean is that of all.
        """
        maps = self.maps[0] if len(self.maps) == 1 else torch.cat(self.maps)
        total = self.total
        if total is None:
            total = class_counts(maps, self.num_classes)
        elif self.resized:
            total = self.restore(total[None])[0]
        mean, weights = total.div_(len(maps)), {}
        if number < len(maps):
            maps, shares = representative(maps, number, self.num_classes)
            weights['sample_weights'] = shares
        return dict(
            pred_samples=PixelData(data=maps),
            sample_probs=PixelData(data=mean),
            **weights,
        )


def possible_classes(probs: Tensor) -> list[int]:
    """Ids of the classes that may win at a pixel between those of a sample.

    Wherever probabilities are blended they add up to 1, so that the winner's
    is 1 / K at least; a blend is not above the largest. On devices that would
    have to wait for the answer, all classes.

    Args:
        probs: Probabilities (K, H, W).
    """
    if not gains_by_tiles(probs.device):
        return list(range(len(probs)))
    least = 0.99 / len(probs)  # sums are rounded
    return (probs.amax(dim=(1, 2)) >= least).nonzero()[:, 0].tolist()
