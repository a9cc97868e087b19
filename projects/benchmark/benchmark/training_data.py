"""What is read from training images before anything is trained."""

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mmengine.config import Config
from mmseg.registry import DATASETS
from torch import Tensor

from mmcar.evaluation import FloodMetric, fit_field

from .tasks import Task, split

FARTHEST = 16  # pixels at which annotators' agreement is looked at
MOST_HELD_OUT = 200  # images that choose settings
MOST_FITTED = 1000  # images whose annotations fix the fields
# Where an image has one label, there is nothing to fit.
NOT_FITTED = dict(correlation_length=4.0, common=0.5)


@cache
def held_out(task: Task) -> tuple[list[int], list[int]]:
    """Training images to train with, and those that choose settings.

    Returns:
        Indices among all images of the folder, as a data set takes them.
    """
    cfg = Config.fromfile(task.config).train_dataloader.dataset
    dataset = DATASETS.build(cfg)
    root = dataset.data_prefix['img_path']
    names = [
        str(Path(dataset.get_data_info(i)['img_path']).relative_to(root))
        for i in range(len(dataset))
    ]
    # The config may take a part of the images itself.
    own = list(cfg.get('indices') or range(len(names)))
    kept, held = split(names, task.case)
    held = held[:: every(len(held), MOST_HELD_OUT)]
    return [own[i] for i in kept], [own[i] for i in held]


def every(number: int, most: int) -> int:
    """Which of so many to take for at most so many: every k-th."""
    return max(math.ceil(number / most), 1)


@cache
def preload(task: Task, part: str, dataset: str) -> None:
    """Read all files of a data set once: no training pays for it."""
    images = DATASETS.build(json.loads(dataset))
    for index in range(len(images)):
        images[index]


@cache
def max_class_area(labelled: str) -> list[float]:
    """Largest share of each class in an annotation of the training set.

    Args:
        labelled: Config of the training set with all labels, as JSON.
    """
    dataset = json.loads(labelled)
    metric = FloodMetric(train_dataset=dataset)
    metric.dataset_meta = DATASETS.build(dataset).metainfo
    return metric.largest.tolist()


@cache
def fitted_field(task: Task, labelled: str) -> dict[str, float | None]:
    """Correlation length and common part that fit the annotations.

    Args:
        task: The data set.
        labelled: Config of the training set with all labels, as JSON.
    """
    if not task.soft_labels:
        return dict(NOT_FITTED)
    images = DATASETS.build(json.loads(labelled))

    def labels() -> Iterator[Tensor]:
        for index in range(0, len(images), every(len(images), MOST_FITTED)):
            yield images[index]['data_samples'].gt_sem_segs.data

    fit = fit_field(labels(), task.num_classes, FARTHEST)
    length = fit.correlation_length
    if length is None:  # all pixels go together
        return dict(correlation_length=None, common=0.0)
    return dict(
        correlation_length=round(length, 1),
        common=round(min(fit.common, 0.99), 2),
    )
