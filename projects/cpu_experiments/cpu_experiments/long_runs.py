"""Trainings that are followed until their curve is flat."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmcar.engine.hooks.processor_time_hook import MINUTES
from mmcar.visualization.training_curves import find_logs, read_curves

from .running import Experiments
from .suite import CAMVID, LIDC, PAPER, RECIPE, Row
from .summary import load_scores
from .versions import recorded

GED, HM_IOU = 'GED_16', 'HM-IoU_16'
SCORES = (GED, HM_IOU)
SEED = 0
AUTHORS = "authors' switches"


@dataclass(frozen=True)
class LongRun:
    """A training whose scores are followed.

    Attributes:
        group: Folder of the config.
        name: Config in that folder.
        label: What the curve is called.
    """

    group: str
    name: str
    label: str

    @property
    def key(self) -> str:
        """Name of the run on the command line and in the record."""
        return f'{self.group}/{self.name}'


LONG_RUNS = tuple(
    LongRun(group, name, label)
    for group in (LIDC, CAMVID)
    for name, label in (
        ('long', PAPER),
        ('long_authors', AUTHORS),
        ('long_recipe', RECIPE),
    )
)
# Needs no training: a line beside the curves, on the same images.
LINES = tuple(
    Row(group, 'long_gumbel', None, 'training-free', 1)
    for group in (LIDC, CAMVID)
)


def read_curve(folder: Path) -> dict:
    """What a training has scored so far, all its resumes together.

    Args:
        folder: Its work dir.

    Returns:
        ``iterations``, ``minutes`` (of processor time) and a list per score,
        all equally long; empty if it has not been scored yet.
    """
    curves = read_curves(*find_logs(folder))
    if GED not in curves or MINUTES not in curves:
        return {}
    iterations = curves[GED][0]
    minutes = np.interp(iterations, *curves[MINUTES])
    scores = {
        name: [round(float(value), 5) for value in curves[name][1]]
        for name in SCORES
        if name in curves
    }
    return dict(
        iterations=[int(i) for i in iterations],
        minutes=[round(float(m), 2) for m in minutes],
        **scores,
    )


def collect(experiments: Experiments) -> dict:
    """Everything the page shows: name of a run or line -> record."""
    records = {}
    for run in LONG_RUNS:
        folder = experiments.folder(run.group, run.name, SEED)
        curve = read_curve(folder)
        if curve:
            records[run.key] = dict(curve, config=recorded(folder), seed=SEED)
    for row in LINES:
        found = load_scores(row, experiments)
        if found:
            scores = found[SEED]
            records[f'{row.group}/{row.name}'] = {
                name: round(scores[name], 5)
                for name in SCORES
                if name in scores
            }
    return records
