"""The paper's recipe with one change at a time."""

import pytest
from mmengine.config import Config

from tests.test_tools.project import ROOT

from ..cpu_experiments.changes import (
    CHANGES,
    ITERATIONS,
    PAPER_RUN,
    change_table,
    collect_changes,
    experiments_of,
    key_of,
)
from ..cpu_experiments.running import config_path
from ..cpu_experiments.versions import load_config
from .test_long_runs import write_log


@pytest.mark.parametrize('group', ITERATIONS)
def test_each_is_a_change_of_the_paper_s_config(group, tmp_path):
    versions = {
        experiments_of(change, group, tmp_path, None).training_version(
            group, PAPER_RUN, 0
        )
        for change in CHANGES
    }
    assert len(versions) == len(CHANGES)
    config = load_config(config_path(group, PAPER_RUN))
    for change in CHANGES:
        for option in change.options:
            assert_named(config, option.partition('=')[0])


def assert_named(config: Config, key: str) -> None:
    """An option of a name that nothing reads would change nothing."""
    *parents, last = key.split('.')
    for parent in parents:
        config = config[int(parent) if parent.isdigit() else parent]
    arguments = ('film', 'residual')  # of RefinementUNet, not in the config
    assert last in config or last in arguments


def test_table_after_as_many_iterations(tmp_path):
    group, last = 'camvid', ITERATIONS['camvid']
    change = CHANGES[0]
    experiments = experiments_of(change, group, tmp_path, None)
    write_log(
        experiments.folder(group, PAPER_RUN, 0),
        '20260101_000000',
        dict(processor_minutes=1.0, d_acc=0.9, step=last // 4),
        dict(processor_minutes=1.0, d_acc=0.8, step=last // 2 - 1),
        {'GED_16': 0.5, 'diversity_16': 0.3, 'step': last // 2},
        dict(processor_minutes=2.0, d_acc=0.5, step=last - 10),
        dict(processor_minutes=2.0, d_acc=0.7, step=last),
        {'GED_16': 0.25, 'diversity_16': 0.125, 'step': last},
    )
    records = collect_changes(tmp_path)
    assert set(records) == {key_of(change, group)}
    assert records[key_of(change, group)]['d_acc'] == [0.85, 0.6]
    records[f'{group}/{PAPER_RUN}'] = {
        'iterations': [last // 2, last, 2 * last],
        'GED_16': [0.4, 0.3, 0.1],
        'diversity_16': [0.2, 0.1, 0.0],
        'd_acc': [0.5, None, 1.0],
    }
    assert change_table(records, group).splitlines() == [
        f"|  | GED 16 at {last // 2} | GED 16 | E d(s, s') | D's accuracy |",
        '|---|---|---|---|---|',
        "| paper's recipe | .400 | .300 | .100 | 0.50 |",
        f'| {change.label} | .500 | .250 | .125 | 0.72 |',
    ]


def test_the_page_shows_every_change():
    """One that was not trained to its end would be missing in silence."""
    page = (ROOT / 'projects/cpu_experiments/long_training.md').read_text()
    table = page.split('<!-- table: changes camvid -->')[1]
    table = table.split('<!-- end -->')[0]
    for change in CHANGES:
        assert f'| {change.label} |' in table
