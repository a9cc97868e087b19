"""A row by one command, each part of it once."""

import pytest

from mmcar.utils.errors import UserError
from projects.cpu_experiments.tests.toy_tools import commands
from tests.test_tools.project import ROOT, run

from ..paper.published import TABLES
from ..paper.rows import PaperRuns, find_row, sample_counts

__all__ = ['commands']
TOOL = ROOT / 'projects' / 'paper' / 'row.py'


def options_of(command):
    return dict(
        part.partition('=')[::2] for part in command if part.find('=') > 0
    )


@pytest.mark.parametrize(
    ('name', 'counts'),
    [('car_lidc', '(16,50,100,)'), ('car_groundtruth_cityscapes24', '(16,)')],
)
def test_a_training_and_a_test_per_seed(commands, tmp_path, name, counts):
    title, row = find_row(name)
    assert row.name in {row.config for row in TABLES[title][1]}
    for _ in range(2):  # what is finished is not run again
        for seed in (0, 1):
            PaperRuns(tmp_path).test(row, seed)
    assert len(commands) == 4
    for seed in (0, 1):
        train, test = commands[2 * seed : 2 * seed + 2]
        assert train[1:4] == [
            'tools/train.py',
            f'configs/car/{name}.py',
            '--resume',
        ]
        assert options_of(train) == {'randomness.seed': str(seed)}
        assert test[1] == 'tools/test.py' and test[3].endswith('.pth')
        assert f'/{name}/seed{seed}/' in test[3]
        options = options_of(test)
        assert options['test_evaluator.0.num_samples'] == counts
        most = max(map(int, counts.strip('(,)').split(',')))
        assert options['model.test_cfg.num_samples'] == str(most)
        assert options['model.test_cfg.seed'] == str(seed)


def test_every_row_can_be_run():
    """All of a test's options mean something to the config."""
    for _, rows in TABLES.values():
        for row in rows:
            _, found = find_row(row.config)
            assert PaperRuns(ROOT / 'none').test_version(found, 0)


def test_counts_are_those_of_the_table():
    assert sample_counts(('GED_16', 'GED_50', 'HM-IoU_9', 'ECE')) == (16, 50)


def test_a_row_that_the_paper_does_not_have():
    with pytest.raises(UserError, match=r'car_lidc_m4.*car_lidc_m5'):
        find_row('car_lidc_m4')
    wrong = run(TOOL, 'nothing')
    assert wrong.returncode == 2 and 'is no row of the paper' in wrong.stderr
