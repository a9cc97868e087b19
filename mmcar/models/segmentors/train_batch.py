"""What the losses and the discriminator need to know of a training batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import label_distribution


@dataclass
class TrainBatch:
    """Images with their labels, stacked.

    Args:
        image: Normalised images (B, C, H, W).
        data_samples: Their data samples, B of them.
        num_classes: Number of classes K.
        ignore_index: Id of unlabelled pixels.
        seed: Seeds of the step's noise: that of the run, the iteration.
    """

    image: Tensor
    data_samples: Sequence[SegDataSample]
    num_classes: int
    ignore_index: int = 255
    seed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        #: The drawn label (B, H, W).
        self.label = torch.cat([s.gt_sem_seg.data for s in self.data_samples])

    @cached_property
    def mask(self) -> Tensor:
        """1 where the drawn label is known (B, 1, H, W)."""
        known = self.label != self.ignore_index
        return known[:, None].to(self.image.dtype)

    @cached_property
    def real(self) -> Tensor:
        """The drawn label as D sees it (B, K, H, W), 0 where it is ignored.

        Made when it is asked for: F and a G without an adversary do not.
        """
        ids = self.label.where(self.label != self.ignore_index, 0)
        real = F.one_hot(ids, self.num_classes).movedim(-1, 1)
        return real.to(self.image.dtype) * self.mask

    def label_distribution(self) -> tuple[Tensor, Tensor]:
        """Label distribution (B, K, H, W) and where it is known (B, H, W)."""
        pairs = [
            label_distribution(s, self.num_classes, self.ignore_index)
            for s in self.data_samples
        ]
        probs, valid = zip(*pairs, strict=True)
        return torch.stack(probs), torch.stack(valid)

    def labels(self) -> Tensor:
        """Every annotator's label (B, A, H, W).

        Missing annotators are filled with maps of the ignore index. Where
        classes flip at random, the drawn label is the only one there is.
        """
        drawn = self.label[:, None]
        if any('gt_sem_segs' not in s or s.get('class_flips') for s in self):
            return drawn
        size = self.image.shape[-2:]
        maps = [s.gt_sem_segs.data for s in self]
        most = max(len(m) for m in maps)
        full = drawn.new_full((len(maps), most, *size), self.ignore_index)
        for row, annotators in zip(full, maps, strict=True):
            row[: len(annotators)] = annotators
        return full

    def __iter__(self) -> Iterator[SegDataSample]:
        return iter(self.data_samples)
