"""The best F that a black box's decision allows."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor

from ...structures import ClassFlips


@MODELS.register_module()
class FlippedDecision(BaseModule):
    """In place of F: the black box's decision, with the known class flips.

    What a model would predict that knows the flip table and nothing better
    than its black box: the bound for everything on top of that black box.

    Args:
        num_classes: Number of classes K, twins included.
        class_flips: Rows (class id, twin id, probability).
        black_box_classes: Classes of the black box, the first of the K.
    """

    def __init__(
        self,
        num_classes: int,
        class_flips: Sequence[tuple],
        black_box_classes: int,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.flips = ClassFlips.parse(class_flips, num_classes)
        self.black_box_classes = black_box_classes

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor,
        data_samples: Sequence | None = None,
    ) -> Tensor:
        """Log-probabilities (B, K, H, W), 0 or a flip's or about -inf."""
        decision = black_box_probs.argmax(dim=1)
        one_hot = F.one_hot(decision, self.num_classes).permute(3, 0, 1, 2)
        probs = self.flips.apply(one_hot.float()).transpose(0, 1)
        return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
