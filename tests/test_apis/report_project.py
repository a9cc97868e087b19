"""Small labelled data sets, and models without training to report on."""

from pathlib import Path

import numpy as np
from mmengine.config import Config

from tests.test_datasets.samples import write
from tests.test_tools.project import loader
from tests.toys import toy_config


def known_distribution(num_classes=2, **test_cfg) -> dict:
    """A model that draws from the labels' own distribution."""
    head = dict(
        type='CARHead',
        num_classes=num_classes,
        calibration=dict(type='KnownDistribution'),
        generator=dict(type='GumbelSampler'),
    )
    return toy_config(
        decode_head=head,
        discriminator=None,
        test_cfg=dict(num_samples=8, **test_cfg),
    )


def report_config(folder: Path, **changes) -> Config:
    """Config of a test on ``folder/data``, see `write_cells`."""
    settings = dict(
        default_scope='mmseg',
        model=known_distribution(),
        test_dataloader=loader(folder / 'data', 'val'),
        test_evaluator=dict(type='GEDMetric', num_samples=3),
    )
    return Config({**settings, **changes})


def write_cells(folder: Path, images=5, annotators=4, size=(24, 32)) -> None:
    """Write discs that annotators draw with different radii.

    Image i has a disc in column 12 + 2 i; annotator a draws it with radius
    4 + a. Pixels between the smallest and the largest are uncertain.
    """
    rows, columns = np.mgrid[: size[0], : size[1]]
    rng = np.random.default_rng(0)
    for i in range(images):
        distance = np.hypot(rows - size[0] / 2, columns - 12 - 2 * i)
        picture = rng.integers(40, 90, (*size, 3), np.uint8)
        picture[distance < 6] += 100
        write(folder / f'images/val/{i}.png', picture)
        for a in range(annotators):
            mask = (distance < 4 + a).astype(np.uint8)
            write(folder / f'annotations/val/{i}/a{a}.png', mask)
