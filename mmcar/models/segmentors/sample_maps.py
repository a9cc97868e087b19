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


def is_whole(maps: Tensor) -> bool:
    """Whether maps share their memory with nothing else.

    A part of a batch that is kept or saved takes all of the batch with it.
    """
    return maps.untyped_storage().nbytes() == maps.nbytes


def possible_classes(probs: Tensor) -> list[int]:
    """Ids of the classes that may win at a pixel between those of a sample.

    Wherever probabilities are blended they add up to 1, so that the winner's
    is 1 / K at least; a blend is not above the largest. On devices that would
    have to wait for the answer, all classes.

    Args:
        probs: Probabilities (K, H, W).
    """
    classes = len(probs)
    if not gains_by_tiles(probs.device):
        return list(range(classes))
    least = 0.99 / classes  # sums are rounded
    return (probs.amax(dim=(1, 2)) >= least).nonzero()[:, 0].tolist()


class SampleMaps:
    """Collects the samples of one image, at its original size.

    Args:
        num_samples: How many will be added.
        num_classes: Number of classes K.
        inputs: The network's input (B, C, H, W), for its size.
        meta: Metainfo of the image.
        align_corners: How to resize.
    """

    def __init__(
        self,
        num_samples: int,
        num_classes: int,
        inputs: Tensor,
        meta: Mapping,
        align_corners: bool,
    ) -> None:
        self.num_samples, self.num_classes = num_samples, num_classes
        self.resized = is_resized(inputs, meta)
        self.restore = partial(
            to_original, meta=meta, align_corners=align_corners
        )
        self.maps: Tensor | None = None
        self.drawn = 0
        self.total: Tensor | None = None
        self.small = False  # whether the total is of the input's size

    def _keep(self, maps: Tensor) -> None:
        """Take over label maps (s, h, w) of the original size."""
        whole = len(maps) == self.num_samples and is_whole(maps)
        if whole and maps.dtype == label_dtype(self.num_classes):
            self.maps = maps
            return
        if self.maps is None:
            shape = self.num_samples, *maps.shape[1:]
            dtype = label_dtype(self.num_classes)
            self.maps = maps.new_empty(shape, dtype=dtype)
        self.maps[self.drawn : self.drawn + len(maps)] = maps
        self.drawn += len(maps)

    def add_probs(self, probs: Tensor) -> None:
        """Add samples by their probabilities (s, K, H, W).

        What takes long is resizing: of each sample only the classes that may
        win are brought to the original size, and of the mean of resized
        samples, which is their mean resized, no more than that.
        """
        if self.resized:
            self.small = True
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
        """Add samples by their label maps (s, H, W).

        Where they are resized, it is as if their one-hot form were, but one
        class at a time, and only the classes that occur.
        """
        if not self.resized:
            self._keep(self.restore(labels))
            return
        for one in labels:
            best: Tensor | None = None
            for k in one.unique().tolist():
                scores = self.restore((one == k).float()[None, None])[0, 0]
                if best is None:
                    best = torch.zeros_like(scores)
                    label = best.to(label_dtype(self.num_classes))
                if self.total is None:
                    shape = self.num_classes, *scores.shape
                    self.total = scores.new_zeros(shape)
                self.total[k] += scores
                label.masked_fill_(scores > best, k)
                torch.maximum(best, scores, out=best)
            self._keep(label[None])

    def fields(self, number: int) -> dict[str, PixelData | Tensor]:
        """``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w).

        Args:
            number: How many samples to keep, S. If more were drawn, it is
                those that stand for all best; ``sample_weights`` (S,) then
                says for which share of them, and the mean is that of all.
        """
        maps, total = self.maps, self.total
        if total is None:
            total = class_counts(maps, self.num_classes)
        elif self.small:
            total = self.restore(total[None])[0]
        mean = total.div_(len(maps))
        weights = {}
        if number < len(maps):
            maps, shares = representative(maps, number, self.num_classes)
            weights['sample_weights'] = shares
        return dict(
            pred_samples=PixelData(data=maps),
            sample_probs=PixelData(data=mean),
            **weights,
        )
