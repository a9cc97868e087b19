"""The best F that a black box's decision allows."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import ClassFlips
from ...utils.errors import UserError
from .base import FixedCalibration


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
                'FlippedDecision needs data samples with class_flips: use a '
                'data set whose metainfo has them'
            )
        decision = black_box_probs.argmax(dim=1)
        one_hot = F.one_hot(decision, self.num_classes).movedim(3, 1).float()
        probs = [t.apply(p) for t, p in zip(tables, one_hot, strict=True)]
        probs = torch.stack(probs)
        return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
