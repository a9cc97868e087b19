"""What the labels of an image say about each of its pixels."""

import torch
from torch import Tensor

from ..utils.errors import UserError
from .class_flips import class_flips_of
from .data_sample import DataSample


def label_distribution(
    data_sample: DataSample,
    num_classes: int,
    ignore_index: int = 255,
) -> tuple[Tensor, Tensor]:
    """The true class probabilities of every pixel of one image.

    It is the mean of the annotators' one-hot maps, each pixel over those who
    labelled it, followed by the class flips of the data set.

    Args:
        data_sample: Carries ``gt_sem_segs`` (A, H, W) and, for class-flip
            data, ``class_flips``.
        num_classes: Number of classes K, twins included.
        ignore_index: Label of unlabelled pixels.

    Returns:
        Probabilities (K, H, W), uniform where nobody labelled the pixel, and
        the mask (H, W) of pixels that somebody labelled.

    Raises:
        ValueError: No labels in the sample, or an id outside the classes.
    """
    field = data_sample.get('gt_sem_segs')
    if field is None:
        raise UserError(
            f'{data_sample.get("img_path", "the sample")} carries no '
            "'gt_sem_segs': let the pipeline keep all annotators, "
            "dict(type='LoadMultiAnnotations', keep_all=True)"
        )
    labels = field.get('data')  # (A, H, W)
    size, device = labels.shape[1:], labels.device
    counts = torch.zeros(num_classes, *size, device=device)
    total = torch.zeros(size, device=device)
    for own in labels:  # one by one: they may be large
        ids = own.long()
        labelled = ids != ignore_index
        outside = labelled & ((ids < 0) | (ids >= num_classes))
        # Elsewhere the look would make the device wait; what has come there
        # was checked by the data preprocessor.
        if device.type == 'cpu' and outside.any():
            raise UserError(
                f'{data_sample.get("img_path", "the sample")}: label '
                f'{ids[outside][0].item()} is not one of the {num_classes} '
                f'classes, nor the ignore index {ignore_index}'
            )
        found = labelled.float()
        counts.scatter_add_(0, ids.where(labelled, 0)[None], found[None])
        total += found
    valid = total > 0
    counts /= total.clamp_(min=1)
    probs = class_flips_of(data_sample).apply(counts)
    return probs.masked_fill_(~valid, 1 / num_classes), valid
