"""Predictions of any model, read from disk by the data pipeline."""

from collections.abc import Sequence

import torch
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...utils.errors import UserError
from ..data_preprocessor import InputNorm


@MODELS.register_module()
class CachedBlackBox(nn.Module):
    """Predictions of any model, read from disk by the data pipeline.

    Args:
        num_classes: Number of classes of the predictions, K_b.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes

    def set_input_norm(self, norm: InputNorm) -> None:
        """Nothing to do: the images are not looked at."""

    @torch.no_grad()
    def forward(self, image: Tensor, data_samples: Sequence | None) -> Tensor:
        """Collect the predictions of a batch.

        Args:
            image: (B, C, H, W).
            data_samples: B data samples with ``black_box_probs``, which the
                data preprocessor has brought to the size of the images.

        Returns:
            (B, K_b, H, W).
        """
        if data_samples is None:
            raise UserError('CachedBlackBox needs data samples, got None.')
        return torch.stack([self._read(s) for s in data_samples]).to(image)

    def _read(self, sample: SegDataSample) -> Tensor:
        name = sample.metainfo.get('img_path', 'an image')
        if 'black_box_probs' not in sample:
            raise UserError(
                f'CachedBlackBox: no `black_box_probs` for {name}. Add '
                'LoadBlackBoxProbs to the pipeline.'
            )
        probs = sample.black_box_probs.data
        if len(probs) != self.num_classes:
            raise UserError(
                f'CachedBlackBox: the predictions for {name} have '
                f'{len(probs)} classes, but black_box.num_classes='
                f'{self.num_classes}.'
            )
        return probs
