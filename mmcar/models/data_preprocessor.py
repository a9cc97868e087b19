"""From a batch of the data loader to tensors of one size."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch.nn.functional as F
from mmengine.structures import PixelData
from mmseg.models import SegDataPreProcessor
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ..compat import swaps_channels
from ..structures import padding_of, to_input, without_padding
from ..utils.checks import one_of
from ..utils.errors import UserError


@MODELS.register_module()
class StochasticDataPreProcessor(SegDataPreProcessor):
    """``SegDataPreProcessor`` that pads *every* field of a batch, once.

    Image, drawn label, all annotators' labels and cached predictions of a
    black box come out at one size. Images repeat their edge there, since
    networks answer to what they have not been trained on, mid-grey say, far
    into the image. Added pixels are ``seg_pad_val`` in labels; in predictions
    all classes are equally likely there. In testing, labels stay as they are:
    metrics compare them at the original size.

    Takes the arguments of ``SegDataPreProcessor``.

    Args:
        size: Height and width, to which training pads.
        pad_val: What normalised images are padded with, in place of their
            edge.
        kwargs: Further arguments of ``SegDataPreProcessor``.
    """

    classes: tuple[int, int] | None = None

    def __init__(
        self,
        size: tuple[int, int] | None = None,
        pad_val: float | None = None,
        **kwargs: Any,
    ) -> None:
        for key in kwargs.get('test_cfg') or ():
            one_of(('size', 'size_divisor'), test_cfg=key)
        super().__init__(
            size=size and tuple(size), pad_val=pad_val or 0, **kwargs
        )
        self.pad_val = pad_val

    def forward(self, data: dict, training: bool = False) -> dict[str, Any]:
        """Normalise, pad and stack a batch.

        Args:
            data: ``inputs``, B images (C, h, w), and ``data_samples``.
            training: Whether to pad labels as well.

        Returns:
            ``inputs`` (B, C, H, W) and ``data_samples``.
        """
        self._check_channels(data['inputs'])
        for sample in data.get('data_samples') or ():
            self._check_labels(sample)
        if not training and data.get('data_samples') is None:
            # They are what says where predictions end and padding begins.
            samples = [SegDataSample() for _ in data['inputs']]
            data = {**data, 'data_samples': samples}
        data = super().forward(data, training)
        height, width = data['inputs'].shape[-2:]
        samples = data['data_samples'] or ()
        for image, sample in zip(data['inputs'], samples, strict=False):
            padding = padding_of(sample.metainfo)
            if self.pad_val is None and any(padding):
                inner = without_padding(image, sample.metainfo)
                image.copy_(F.pad(inner, padding, 'replicate'))
            if training and 'gt_sem_segs' in sample:
                self._pad(sample, 'gt_sem_segs', (height, width))
            if 'black_box_probs' in sample:
                self._pad(sample, 'black_box_probs', (height, width))
        return data

    def expect_labels(self, num_classes: int, ignore_index: int) -> None:
        """Refuse labels of other classes from now on."""
        self.classes = num_classes, ignore_index

    def _check_channels(self, images: Sequence[Tensor]) -> None:
        """Refuse a mean or deviation that is not of the images' channels."""
        for key in ('mean', 'std'):
            number = len(getattr(self, key, ()))
            for image in images:
                if number not in (0, 1, len(image)):
                    raise UserError(
                        f'model.data_preprocessor.{key} has {number} values: '
                        f'expected {len(image)}, the channels of images'
                    )

    def _check_labels(self, sample: SegDataSample) -> None:
        """Look at label ids while they are on the CPU: no GPU has to wait."""
        if self.classes is None:
            return
        num_classes, ignore_index = self.classes
        for key in {'gt_sem_seg', 'gt_sem_segs'} & {*sample.keys()}:
            labels = sample.get(key).data
            if not labels.numel() or (
                labels.amin() >= 0 and labels.amax() < num_classes
            ):
                continue  # most are: two looks in place of five
            labels = labels.long()  # bytes would compare with other numbers
            unknown = (labels < 0) | (labels >= num_classes)
            ids = labels[unknown & (labels != ignore_index)].unique().tolist()
            if ids:
                raise UserError(
                    f'{sample.get("img_path", "an image")}: label ids {ids}, '
                    f'expected {num_classes} classes and {ignore_index=}'
                )

    def _pad(
        self, sample: SegDataSample, key: str, size: tuple[int, int]
    ) -> None:
        maps = sample.get(key).data
        predicted = key == 'black_box_probs'
        fill = 1 / len(maps) if predicted else self.seg_pad_val
        mode = 'bilinear' if predicted else 'nearest-exact'
        padded = to_input(maps, sample.metainfo, size, fill, mode)
        # A PixelData keeps to one size: a new one takes another.
        sample.set_field(PixelData(data=padded), key, dtype=PixelData)


class InputNorm(NamedTuple):
    """How images have been normalised.

    Attributes:
        mean: Mean per channel that was subtracted, None for none.
        std: Standard deviation per channel that was divided by.
        swapped: Whether the order of channels was reversed.
    """

    mean: Tensor | None = None
    std: Tensor | None = None
    swapped: bool = False

    @classmethod
    def of(cls, preprocessor: nn.Module) -> 'InputNorm':
        """What a data preprocessor, MMSeg's or ours, does to images."""
        return cls(
            getattr(preprocessor, 'mean', None),
            getattr(preprocessor, 'std', None),
            swaps_channels(preprocessor),
        )


def pad_as_in_testing(image: Tensor, preprocessor: nn.Module) -> Tensor:
    """What a data preprocessor, MMSeg's or ours, pads in testing.

    Args:
        image: Normalised images (B, C, h, w).
        preprocessor: Its ``test_cfg`` says how far, its ``pad_val`` with what.

    Returns:
        (B, C, H, W), with more rows at the bottom and columns on the right.
    """
    cfg = getattr(preprocessor, 'test_cfg', None)
    if not cfg:
        return image
    sides, divisor = image.shape[-2:], cfg.get('size_divisor')
    # Arithmetic alone: a trace would keep the branch of its example.
    bottom, right = (
        -side % divisor if divisor else max(least - side, 0)
        for side, least in zip(sides, cfg.get('size') or sides, strict=True)
    )
    padding, value = (0, right, 0, bottom), preprocessor.pad_val
    if value is None:
        return F.pad(image, padding, 'replicate')
    return F.pad(image, padding, value=value)
