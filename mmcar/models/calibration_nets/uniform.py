"""No calibration net: for generators that learn without one."""

from collections.abc import Sequence

from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from .base import FixedCalibration


@MODELS.register_module()
class UniformCalibration(FixedCalibration):
    """Says that every class is as likely as any other: no F at all.

    For baselines whose generator sees the image alone, such as the cVAE-GAN
    with the ELBO. It has nothing to train; L_cal against it, and scores of F,
    have no meaning. Arguments as in :class:`FixedCalibration`.
    """

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return zeros as logits (B, K, H, W); only image sizes count."""
        size = image.shape[-2:]
        return image.new_zeros(len(image), self.num_classes, *size)
