"""Samples of one image as label maps, and the mean of their probabilities."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from mmengine.structures import PixelData
from torch import Tensor

from ...sampling.kernels.class_argmax import (
    class_argmax,
    class_counts,
    gains_by_tiles,
    label_dtype,
)
from ...sampling.support_points import representative


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
    """Label maps of one image's samples, and the mean of their probabilities.

    Args:
        num_classes: Number of classes K.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes
        self.id_dtype = label_dtype(num_classes)
        self.maps: list[Tensor] = []
        self.total: Tensor | None = None
        self.small = False  # whether the total is of the input's size

    def add_probs(self, probs: Tensor) -> None:
        """Add samples by their probabilities (s, K, h, w)."""
        self.maps.append(class_argmax(probs))
        self._add(probs.sum(dim=0) if len(probs) > 1 else probs[0])

    def add_rows(
        self, parts: Iterable[tuple[slice, Tensor]], size: Sequence[int]
    ) -> None:
        """Add samples by their probabilities, some rows at a time.

        Args:
            parts: Rows and their probabilities (s, K, h, W).
            size: Height and width of the image.
        """
        maps: Tensor | None = None
        for rows, probs in parts:
            if maps is None:
                shape = len(probs), *size
                maps = probs.new_empty(shape, dtype=self.id_dtype)
            if self.total is None:
                self.total = probs.new_zeros(self.num_classes, *size)
            maps[:, rows] = class_argmax(probs)
            self.total[:, rows] += probs.sum(0) if len(probs) > 1 else probs[0]
        if maps is not None:
            self.maps.append(maps)

    def add_small_probs(
        self, probs: Tensor, restore: Callable[[Tensor], Tensor]
    ) -> None:
        """Add samples by probabilities of the network's input size.

        What takes long is resizing: of each sample only the classes that may
        win are brought to the original size. The mean of resized samples is
        their mean, resized: see `restore_mean`.

        Args:
            probs: (s, K, H, W).
            restore: Brings maps (1, k, H, W) to the image's original size.
        """
        for one in probs:
            ids = possible_classes(one)
            some = one[ids] if len(ids) < self.num_classes else one
            self.add_largest(restore(some[None]), ids)
        self._add(probs.sum(dim=0) if len(probs) > 1 else probs[0])
        self.small = True

    def add_largest(self, probs: Tensor, ids: Sequence[int]) -> None:
        """Add a sample by those classes (1, k, h, w) that may win."""
        self.maps.append(class_argmax(probs, ids).to(self.id_dtype))

    def restore_mean(self, restore: Callable[[Tensor], Tensor]) -> None:
        """Bring the mean to the original size, once all samples are there.

        Args:
            restore: Brings maps (1, K, H, W) to that size.
        """
        if self.small:
            self.total = restore(self.total[None])[0]
            self.small = False

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

    def _joined(self) -> Tensor:
        """All label maps (S, h, w), no chunk of them held any longer."""
        if len(self.maps) == 1 and is_whole(self.maps[0]):
            return self.maps.pop()
        number, size = sum(map(len, self.maps)), self.maps[0].shape[1:]
        joined = self.maps[0].new_empty(number, *size)
        while self.maps:  # each is freed before the next is copied
            part = self.maps.pop()
            joined[number - len(part) : number] = part
            number -= len(part)
        return joined

    def fields(self, number: int) -> dict[str, PixelData]:
        """``pred_samples`` (S, h, w) and ``sample_probs`` (K, h, w).

        Args:
            number: How many samples to keep, S. If more were drawn, it is
                those that stand for all best; the mean is that of all.
        """
        maps = self._joined()
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
