"""What the metrics need of one predicted image, computed once for all."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..structures import ClassFlips, class_flips_of
from ..utils.errors import UserError
from .functional.flips import flip_class_ious
from .functional.iou import ClassIoU, joint_class_ious

_CACHE = 'pair_ious'


def labels_of(data_sample: dict) -> Tensor:
    """All labels (A, H, W) of an image; one if it has one annotator."""
    for key in ('gt_sem_segs', 'gt_sem_seg'):
        if key in data_sample:
            return data_sample[key]['data']
    raise UserError(
        f"{image_name(data_sample)}: no 'gt_sem_segs' or 'gt_sem_seg'; the "
        'test pipeline has to load annotations'
    )


def samples_of(data_sample: dict) -> Tensor:
    """The sampled label maps (S, H, W) of an image."""
    if 'pred_samples' not in data_sample:
        raise UserError(
            f"{image_name(data_sample)}: no 'pred_samples'; this metric needs "
            'a model that samples, such as CARSegmentor'
        )
    return data_sample['pred_samples']['data']


def image_name(data_sample: dict) -> str:
    """A name for messages and tables."""
    name = data_sample.get('sample_key') or data_sample.get('img_path')
    return str(name or 'image')


def _cached(data_sample: dict, key: tuple, make: Callable[[], Any]) -> Any:
    """Look up in the image's dict, which all metrics are handed alike."""
    cache = data_sample.setdefault(_CACHE, {})
    if key not in cache:
        cache[key] = make()
    return cache[key]


@torch.no_grad()
def pair_ious(
    data_sample: dict,
    num_classes: int,
    classes: Sequence[int] | None,
    ignore_index: int,
) -> ClassIoU:
    """IoUs among samples and labels, (C, S + A, S + A), samples first."""
    classes = None if classes is None else tuple(classes)
    return _cached(
        data_sample,
        (num_classes, classes, ignore_index),
        lambda: joint_class_ious(
            samples_of(data_sample),
            labels_of(data_sample),
            num_classes=num_classes,
            classes=classes,
            ignore_index=ignore_index,
        ),
    )


@torch.no_grad()
def flip_pair_ious(
    data_sample: dict, num_classes: int, ignore_index: int
) -> ClassIoU:
    """IoUs among samples and both label states, (2n, S + 2, S + 2)."""
    flips = ClassFlips.parse(class_flips_of(data_sample), num_classes)
    labels = labels_of(data_sample)
    if len(labels) != 1:
        raise UserError(
            f'{image_name(data_sample)}: class flips need one base label, '
            f'got labels {tuple(labels.shape)}'
        )
    return _cached(
        data_sample,
        ('flips', num_classes, ignore_index),
        lambda: flip_class_ious(
            samples_of(data_sample),
            labels[0],
            flips=flips,
            num_classes=num_classes,
            ignore_index=ignore_index,
        ),
    )


def first_samples(table: ClassIoU, number: int, num_labels: int) -> ClassIoU:
    """The part of a table for the first samples and all labels.

    Args:
        table: IoUs of shape (C, S + A, S + A), samples first.
        number: How many samples to keep.
        num_labels: A.
    """
    available = table.iou.shape[1] - num_labels
    if number > available:
        raise UserError(
            f'num_samples={number} but the model drew {available} per image; '
            'raise num_samples in the test_cfg of the model'
        )
    keep = [*range(number), *range(available, available + num_labels)]
    return ClassIoU(*(x[:, keep][:, :, keep] for x in table))
