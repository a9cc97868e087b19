"""IoUs among the samples and labels of an image, computed once for all."""

import torch
from torch import Tensor

from ...structures import ClassFlips, class_flips_of
from ...utils.errors import UserError
from ..functional.class_flips import flip_class_ious, flip_terms_from_iou
from ..functional.energy import EnergyTerms, energy_terms_from_iou
from ..functional.iou import ClassIoU, joint_class_ious
from .conventions import Conventions
from .fields import (
    base_label_of,
    check_drawn,
    image_name,
    labels_of,
    samples_of,
    shared,
)


def energy_terms(
    data_sample: dict, number: int, how: Conventions
) -> EnergyTerms:
    """Terms of the energy distance of the first samples of an image.

    Where classes flip by a table, they are those to all modes of the label.

    Args:
        data_sample: The predicted image.
        number: How many of its samples to use.
        how: Conventions of the IoU.
    """
    flips = class_flips_of(data_sample)
    if flips:
        table = _class_flip_ious(data_sample, flips, how)
        return flip_terms_from_iou(_first_samples(table, number, 2), flips)
    table = _pair_ious(data_sample, how)
    labels = len(labels_of(data_sample))
    iou = _first_samples(table, number, labels).mean(how.absent)
    return energy_terms_from_iou(iou, labels)


def label_ious(data_sample: dict, number: int, how: Conventions) -> Tensor:
    """IoUs of the first samples with the A' labels that are not empty.

    Args:
        data_sample: The predicted image.
        number: How many of its samples to use.
        how: Conventions of the IoU.

    Returns:
        Shape (number, A'); NaN for a pair without an IoU.
    """
    if class_flips_of(data_sample):
        raise UserError(
            f'{image_name(data_sample)}: HM-IoU matches samples to labels '
            'that are given, but here labels flip by a table; use GEDMetric'
        )
    table = _pair_ious(data_sample, how)
    table = _first_samples(table, number, len(labels_of(data_sample)))
    cross = table.part(slice(number), slice(number, None))
    return cross.labelled_mean(how.absent)


@torch.no_grad()
def _pair_ious(data_sample: dict, how: Conventions) -> ClassIoU:
    """IoUs among samples and labels, (C, S + A, S + A), samples first."""
    return shared(
        data_sample,
        (how.num_classes, how.classes, how.ignore_index),
        lambda: joint_class_ious(
            samples_of(data_sample),
            labels_of(data_sample),
            num_classes=how.num_classes,
            classes=how.classes,
            ignore_index=how.ignore_index,
        ),
    )


@torch.no_grad()
def _class_flip_ious(
    data_sample: dict, flips: ClassFlips, how: Conventions
) -> ClassIoU:
    """IoUs among samples and both label states, (2n, S + 2, S + 2)."""
    label = base_label_of(data_sample)
    if how.given_classes is not None or how.given_absent == 'one':
        raise UserError(
            f'{image_name(data_sample)}: classes={how.given_classes}, '
            f'absent={how.given_absent!r}: where classes flip by a table, '
            'the distance is over the classes of the table that are present; '
            "delete 'classes' and 'absent' of the metric"
        )
    return shared(
        data_sample,
        ('class flips', how.num_classes, how.ignore_index),
        lambda: flip_class_ious(
            samples_of(data_sample),
            label,
            flips=ClassFlips.parse(flips, how.num_classes),
            num_classes=how.num_classes,
            ignore_index=how.ignore_index,
        ),
    )


def _first_samples(table: ClassIoU, number: int, num_labels: int) -> ClassIoU:
    """The part of a table for the first samples and all labels.

    Args:
        table: IoUs of shape (C, S + A, S + A), samples first.
        number: How many samples to keep.
        num_labels: A.
    """
    available = table.iou.shape[1] - num_labels
    check_drawn(available, number)
    keep = [*range(number), *range(available, available + num_labels)]
    return table.part(keep, keep)
