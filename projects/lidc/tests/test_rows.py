"""Every row has its configs, and a test keeps the scores of every slice."""

import json
import sys
from subprocess import run

import pytest
from mmengine.config import Config

from mmcar.utils.errors import UserError
from tests.test_tools.project import ROOT

from ..lidc.rows import (
    ENDED,
    F_OF,
    ROWS,
    WHOLE,
    F,
    LIDCRuns,
    find_row,
)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return LIDCRuns(tmp_path)


def test_tests_name_both_tables(runs):
    for row in ROWS.values():
        cfg = Config.fromfile(runs.config('', row.name))
        kinds = [metric['type'] for metric in cfg.test_evaluator[:2]]
        assert kinds == ['GEDMetric', 'HMIoUMetric']
        ged, hm_iou = runs.tables(row, 2)
        settings = runs.test_settings(row, 2)
        assert f'test_evaluator.0.csv_file={ged}' in settings
        assert f'test_evaluator.1.csv_file={hm_iou}' in settings
        assert runs.test_version(row, 2)


def test_samples_are_independent(runs):
    for row in ROWS.values():
        settings = runs.test_settings(row, 0)
        assert 'model.noise.type=NormalNoise' in settings


def test_weights_come_from_the_same_seed(runs, monkeypatch):
    asked = []

    def train(group, name, seed):
        asked.append((name, seed))
        return 'f.pth'

    monkeypatch.setattr(runs, 'train', train)
    for name in F_OF:
        options = runs._weights('', name, 2)
        cfg = Config.fromfile(runs.config('', name))
        for option in options:
            key, value = option.split('=')
            assert value == 'f.pth' and key.endswith('init_cfg.checkpoint')
            cfg.merge_from_dict({key: value})
        head = cfg.model.decode_head
        for net in (head.calibration, head.generator.net):
            assert net.init_cfg.checkpoint == 'f.pth'
            assert net.init_cfg.prefix == 'decode_head.calibration.'
    assert asked == [(F, 2)] * len(F_OF)


def test_only_the_choice_of_settings_leaves_training_patients_out(runs):
    for name, row in ROWS.items():
        cfg = Config.fromfile(runs.config('', row.name))
        files = cfg.test_dataloader.dataset.data_prefix.img_path
        listed = cfg.train_dataloader.dataset.get('ann_file', '')
        choose = name == 'choose'
        assert files == ('images/train' if choose else 'images/test')
        assert listed == ('choose_train.txt' if choose else '')


def test_an_unknown_row_lists_all():
    with pytest.raises(UserError, match='choose, free, ensemble, tuned'):
        find_row('fre')


def test_minutes_are_of_all_that_a_row_needs(runs):
    scores = dict.fromkeys(WHOLE, 0.5)
    for seed in range(3):
        folder = runs.folder('', F, seed)
        folder.mkdir(parents=True)
        (folder / ENDED).write_text(f'{{"minutes": {10**seed}}}')
    expected = dict(free=100, tuned=103, ensemble=111)
    for name, minutes in expected.items():
        row = ROWS[name]
        path = runs.scores_file(row, 2)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(dict(scores=scores)))
        if name == 'tuned':
            path.parents[1].joinpath(ENDED).write_text('{"minutes": 3}')
        found = runs.whole_scores(row, 2)
        assert found == {**scores, 'processor minutes': minutes}


def test_its_script_reads_the_config_of_the_mean():
    """As `row.py ensemble` does: classes of its config are registered once."""
    script = (
        "import sys; sys.path[:0] = ['projects/lidc', '.']; "
        'from lidc.rows import ENSEMBLE, LIDCRuns; '
        'from mmengine.config import Config; '
        "Config.fromfile(LIDCRuns('w').config('', ENSEMBLE))"
    )
    run([sys.executable, '-c', script], cwd=ROOT, check=True)
