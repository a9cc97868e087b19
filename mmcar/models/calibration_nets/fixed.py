"""What stands in place of F and has nothing to train: controls and bounds."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import ClassFlips, label_distribution, to_input
from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.precision import safe_log


class FixedCalibration(BaseModule):
    """What stands in place of F and has nothing to train.

    Args:
        num_classes: Number of classes, K.
        black_box_classes: Accepted for the sake of a common interface.
    """

    def __init__(self, num_classes: int, black_box_classes: int = 0) -> None:
        super().__init__()
        at_least(2, num_classes=num_classes)
        self.num_classes = num_classes


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
            raise UserError('KnownDistribution needs data samples')
        # Labels may have the original size, and lack the batch's padding.
        size, fill = (image.shape[-2], image.shape[-1]), 1 / self.num_classes
        probs = []
        for sample in data_samples:
            own, _ = label_distribution(
                sample, self.num_classes, self.ignore_index
            )
            probs.append(to_input(own.to(image), sample.metainfo, size, fill))
        # An impossible class must not be -inf: G and losses do arithmetic.
        return torch.stack(probs).clamp_min(1e-12).log()


@MODELS.register_module()
class FlippedDecision(FixedCalibration):
    """In place of F: the black box's decision, with the known class flips.

    What a model would predict that knows the flip table and nothing better
    than its black box: the bound for everything on top of that black box.
    The table is the one that the data set gives to its images.

    The black box's classes are the first of the K. Arguments as in
    :class:`FixedCalibration`.
    """

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Log-probabilities (B, K, H, W), 0 or a flip's or about -inf.

        Args:
            image: Ignored.
            black_box_probs: Class probabilities (B, K_b, H, W).
            data_samples: Carry the table of class flips of each image.
        """
        tables = [
            ClassFlips.parse(sample.get('class_flips'), self.num_classes)
            for sample in data_samples or ()
        ]
        if not tables or not all(tables):
            raise UserError(
                'FlippedDecision needs a data set with class_flips in metainfo'
            )
        decision = black_box_probs.argmax(dim=1)
        one_hot = F.one_hot(decision, self.num_classes).movedim(3, 1).float()
        probs = [t.apply(p) for t, p in zip(tables, one_hot, strict=True)]
        return safe_log(torch.stack(probs))


@MODELS.register_module()
class UniformCalibration(FixedCalibration):
    """Says that every class is as likely as any other: no F at all.

    For baselines whose generator sees the image alone, such as the cVAE-GAN
    with the ELBO. It has nothing to train; L_cal against it, and scores of F,
    have no meaning. Arguments as in :class:`FixedCalibration`.
    """

    def forward(self, image: Tensor, *_: object) -> Tensor:
        """Return zeros as logits (B, K, H, W); only image sizes count."""
        size = image.shape[-2:]
        return image.new_zeros(len(image), self.num_classes, *size)
