"""Trainings that are followed until their curve is flat."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmcar.report.figures import find_logs, read_curves
from projects.processor_time import MINUTES

from .running import Experiments, config_path
from .suite import AUTHORS, BOUNDS, CAMVID, LIDC, PAPER, RECIPE, Row
from .summary import load_scores
from .versions import recorded

GED, HM_IOU, DIVERSITY = 'GED_16', 'HM-IoU_16', 'diversity_16'
ACCURACY = 'd_acc'
SCORES = (GED, HM_IOU, DIVERSITY)
SEED = 0


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
        ('long_recipe', f'{RECIPE}, Sobol noise'),
    )
)
PERFECT = BOUNDS[0]
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
        ``iterations``, ``minutes`` (of processor time), a list per score and
        D's accuracy since the score before, all equally long; empty if it
        has not been scored yet.
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
    if ACCURACY in curves:
        scores[ACCURACY] = means_between(*curves[ACCURACY], iterations)
    return dict(
        iterations=[int(i) for i in iterations],
        minutes=[round(float(m), 2) for m in minutes],
        **scores,
    )


def means_between(
    steps: np.ndarray, values: np.ndarray, ends: np.ndarray
) -> list[float | None]:
    """Means of a curve from one end to the next; None where it has none."""
    places = np.searchsorted(ends, steps)
    return [
        round(float(values[places == place].mean()), 4)
        if (places == place).any()
        else None
        for place in range(len(ends))
    ]


def score_bounds(row: Row, experiments: Experiments) -> None:
    """Score samplers that know the labels, on a line's images, once."""
    path = _bounds_file(row, experiments)
    if not path.is_file():
        config = str(config_path(row.group, row.name))
        tool = 'tools/analysis_tools/bounds.py'
        command = [sys.executable, tool, config, '--json', str(path)]
        subprocess.run(command, check=True)


def bound_key(group: str) -> str:
    """Name of a group's perfect sampler in the record."""
    return f'{group}/{PERFECT}'


def _bounds_file(row: Row, experiments: Experiments) -> Path:
    return experiments.folder(row.group, row.name, SEED) / 'bounds.json'


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
            records[f'{row.group}/{row.name}'] = _rounded(found[SEED])
        path = _bounds_file(row, experiments)
        if path.is_file():
            scores = json.loads(path.read_text())['scores'][PERFECT]
            records[bound_key(row.group)] = _rounded(scores)
    return records


def _rounded(scores: dict) -> dict:
    return {n: round(scores[n], 5) for n in SCORES if n in scores}
