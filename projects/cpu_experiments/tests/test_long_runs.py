"""Curves of trainings in several parts."""

import json

import pytest

from ..cpu_experiments.long_runs import LINES, LONG_RUNS, collect, read_curve
from ..cpu_experiments.running import Experiments, config_path
from ..cpu_experiments.versions import load_config


def write_log(folder, start, *entries):
    path = folder / start / 'vis_data' / 'scalars.json'
    path.parent.mkdir(parents=True)
    path.write_text('\n'.join(json.dumps(entry) for entry in entries))


def write_parts(folder):
    """A training, killed at iteration 130 and resumed at 100."""
    write_log(
        folder,
        '20260101_000000',
        dict(processor_minutes=1.0, iter=50, step=50),
        dict(processor_minutes=2.0, iter=100, step=100),
        {'GED_16': 0.5, 'HM-IoU_16': 0.1, 'step': 100},
        dict(processor_minutes=9.0, iter=130, step=130),
        {'GED_16': 0.9, 'HM-IoU_16': 0.9, 'step': 130},
    )
    write_log(
        folder,
        '20260101_010000',
        {'GED_16': 0.5, 'HM-IoU_16': 0.1, 'step': 100},
        dict(processor_minutes=2.6, iter=130, step=130),
        {'GED_16': 0.4, 'HM-IoU_16': 0.2, 'step': 130},
        dict(processor_minutes=4.0, iter=200, step=200),
        {'GED_16': 0.3, 'HM-IoU_16': 0.3, 'step': 200},
    )


def test_parts_are_one_curve(tmp_path):
    write_parts(tmp_path)
    assert read_curve(tmp_path) == {
        'iterations': [100, 130, 200],
        'minutes': [2.0, 2.6, 4.0],
        'GED_16': [0.5, 0.4, 0.3],
        'HM-IoU_16': [0.1, 0.2, 0.3],
    }


def test_a_training_without_scores_has_no_curve(tmp_path):
    write_log(tmp_path, '20260101_000000', dict(processor_minutes=1, step=50))
    assert read_curve(tmp_path) == {}
    assert collect(Experiments(tmp_path)) == {}


def test_collects_what_has_run(tmp_path, commands):
    experiments = Experiments(tmp_path)
    experiments.test(LINES[1], 0)
    bounds = {'scores': {'perfect sampler': {'GED_16': 0.05, 'other': 1}}}
    folder = experiments.folder('camvid', 'long_gumbel', 0)
    (folder / 'bounds.json').write_text(json.dumps(bounds))
    write_parts(tmp_path / 'camvid' / 'long' / 'seed0')
    records = collect(experiments)
    names = ('long', 'long_gumbel', 'perfect sampler')
    assert set(records) == {f'camvid/{name}' for name in names}
    assert records['camvid/perfect sampler'] == {'GED_16': 0.05}
    assert records['camvid/long']['GED_16'][-1] == 0.3
    assert records['camvid/long_gumbel'] == {'GED_16': pytest.approx(0.1)}


@pytest.mark.parametrize('group', ['lidc-shapes', 'camvid'])
def test_all_are_scored_on_the_same_images(group):
    """Among them the training-free sampler, which is tested, not trained."""
    loaders = [
        load_config(config_path(run.group, run.name)).val_dataloader
        for run in LONG_RUNS
        if run.group == group
    ]
    loaders += [
        load_config(config_path(row.group, row.name)).test_dataloader
        for row in LINES
        if row.group == group
    ]
    assert len(loaders) == 4
    for loader in loaders:
        assert loader.dataset == loaders[0].dataset
