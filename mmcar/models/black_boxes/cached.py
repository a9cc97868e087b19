"""Predictions of any model, read from disk by the data pipeline."""

from collections.abc import Sequence

import torch
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...utils.errors import UserError
from ..data_preprocessor import InputNorm
from .base import BaseBlackBox


@MODELS.register_module()
class CachedBlackBox(BaseBlackBox):
    """Predictions of any model, read from disk by the data pipeline.

    For models that are not MMSeg's. Those of MMSeg are a ``BlackBox``, which
    reads cached predictions where the pipeline has loaded them.

    Args:
        num_classes: Number of classes of the predictions, K_b.
        one_hot: See :class:`BaseBlackBox`.
    """

    def set_input_norm(self, norm: InputNorm) -> None:
        """Nothing to do: the images are not looked at."""

    def predict(
        self, image: Tensor, data_samples: Sequence[SegDataSample] | None
    ) -> Tensor:
        """Collect the predictions (B, K_b, H, W) of a batch (B, C, H, W).

        The data preprocessor has brought them to the size of the images.
        """
        if data_samples is None:
            raise UserError('CachedBlackBox needs data samples, got None.')
        probs = [self.read_cached(sample) for sample in data_samples]
        return torch.stack(probs).to(image)
