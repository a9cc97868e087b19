"""The known label distribution in place of a calibration net."""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import label_distribution, to_input
from ...utils.errors import UserError
from .base import FixedCalibration


@MODELS.register_module()
class KnownDistribution(FixedCalibration):
    """The true label distribution in place of F: the ground-truth control.

    Args:
        ignore_index: Id of unlabelled pixels.
        kwargs: Arguments of :class:`FixedCalibration`.
    """

    def __init__(self, ignore_index: int = 255, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ignore_index = ignore_index

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return the log of the label distribution (B, K, H, W).

        Args:
            image: Images (B, C, H, W), for their size only.
            black_box_probs: Ignored.
            data_samples: Carry all annotators' labels, ``gt_sem_segs``.
        """
        if not data_samples:
            raise UserError(
                'KnownDistribution needs data samples with gt_sem_segs: it '
                'cannot predict images without labels'
            )
        probs = [self._probs(sample, image) for sample in data_samples]
        # An impossible class must not be -inf: G and losses do arithmetic.
        return torch.stack(probs).clamp_min(1e-12).log()

    def _probs(self, sample: SegDataSample, image: Tensor) -> Tensor:
        """Distribution (K, H, W) of one image at the size of the input."""
        probs, _ = label_distribution(
            sample, self.num_classes, self.ignore_index
        )
        # Labels may have the original size, and lack the batch's padding.
        size = (image.shape[-2], image.shape[-1])
        fill = 1 / self.num_classes
        return to_input(probs.to(image), sample.metainfo, size, fill)
