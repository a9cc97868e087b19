"""What was measured, a record per row: summary.json of a work dir."""

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import torch

from mmcar.utils.errors import MissingFileError

from .running import Experiments, config_path
from .suite import BOUNDS, Row
from .versions import load_config, recorded

TRAINING_FREE = ('GumbelSampler', 'IndependentPixelSampler', 'ArgmaxSampler')
BUFFERS = ('running_mean', 'running_var', 'num_batches_tracked')


def summarise(rows: Sequence[Row], experiments: Experiments) -> dict:
    """Records of all rows that have been tested, and of bounds.

    Scores of another version of a config are left out, and named.

    Returns:
        Name of the row -> record: its source, number of seeds, mean and
        spread (standard deviation) of each score over seeds, values of every
        seed, processor minutes of its training, parameters of F and G.
    """
    summary = {}
    for group in dict.fromkeys(row.group for row in rows):
        path = experiments.work_dir / group / 'bounds.json'
        if path.is_file():
            scores = json.loads(path.read_text())['scores']
            for name in BOUNDS:
                summary[f'{group}/bounds/{name}'] = record({0: scores[name]})
    for row in rows:
        per_seed = load_scores(row, experiments)
        if per_seed:
            costs = training_costs(row, experiments, list(per_seed))
            summary[row.key] = record(per_seed) | costs
    return summary


def load_scores(row: Row, experiments: Experiments) -> dict[int, dict]:
    """Scores of every seed that was tested with today's config."""
    found = {}
    for seed in range(row.seeds):
        path = experiments.scores_file(row, seed)
        if not path.is_file():
            continue
        version = experiments.test_version(row, seed)
        if recorded(path.parent) == version or experiments.keep_old:
            found[seed] = json.loads(path.read_text())['scores']
        else:
            print(f'Left out, as of another version: {path.parent}')
    return found


def record(per_seed: dict[int, dict[str, float]]) -> dict:
    """Mean and spread of every score over the seeds that have it.

    Args:
        per_seed: Seed -> score -> value.
    """
    mean, spread = {}, {}
    for key in dict.fromkeys(k for run in per_seed.values() for k in run):
        values = [run[key] for run in per_seed.values() if key in run]
        values = [value for value in values if not math.isnan(value)]
        if values:
            mean[key] = statistics.mean(values)
        if len(values) > 1:
            spread[key] = statistics.stdev(values)
    return dict(
        source='runs',
        seeds=len(per_seed),
        mean=mean,
        spread=spread,
        per_seed=per_seed,
    )


def training_costs(
    row: Row, experiments: Experiments, seeds: Sequence[int]
) -> dict:
    """Processor minutes of a row's own training; parameters it uses."""
    if row.weights is None:
        return {}
    reports = []
    for seed in seeds:
        folder = experiments.folder(row.group, row.weights, seed)
        reports.append(json.loads((folder / 'trained.json').read_text()))
    head = load_config(config_path(row.group, row.name)).model.decode_head
    trained = head.generator.type not in TRAINING_FREE
    parts = ('calibration', 'generator')[: 1 + trained]
    costs = dict(parameters=count_parameters(reports[0]['checkpoint'], parts))
    if row.weights == row.name:
        minutes = [report['minutes'] for report in reports]
        costs['minutes'] = statistics.mean(minutes)
    return costs


def count_parameters(checkpoint: str, parts: tuple[str, ...]) -> int:
    """Parameters of some parts of the decode head in a checkpoint."""
    state = torch.load(checkpoint, map_location='cpu')['state_dict']
    prefixes = tuple(f'decode_head.{part}.' for part in parts)
    return sum(
        tensor.numel()
        for key, tensor in state.items()
        if key.startswith(prefixes) and not key.endswith(BUFFERS)
    )


def read_summary(path: Path) -> dict:
    """Read the records that `summarise` has made."""
    if not path.is_file():
        raise MissingFileError(
            f'There is no {path}: expected the summary.json of a work dir.'
        )
    return json.loads(path.read_text())
