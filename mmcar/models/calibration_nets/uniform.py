"""No calibration net: for generators that learn without one."""

from collections.abc import Sequence

from mmengine.model import BaseModule
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...utils.checks import at_least


@MODELS.register_module()
class UniformCalibration(BaseModule):
    """Says that every class is as likely as any other: no F at all.

    For baselines whose generator sees the image alone, such as the cVAE-GAN
    with the ELBO. It has nothing to train; L_cal against it, and scores of F,
    have no meaning.

    Args:
        num_classes: Number of classes, K.
        black_box_classes: Accepted for the sake of a common interface.
    """

    def __init__(self, num_classes: int, black_box_classes: int = 0) -> None:
        super().__init__()
        at_least(2, num_classes=num_classes)
        self.num_classes = num_classes

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return zeros as logits (B, K, H, W).

        Args:
            image: Images (B, C, H, W), for their size only.
            black_box_probs: Ignored.
            data_samples: Ignored.
        """
        size = image.shape[-2:]
        return image.new_zeros(len(image), self.num_classes, *size)
