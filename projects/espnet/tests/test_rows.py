"""Every row is that of the experiment it stands beside, but for B."""

import pytest
from mmengine.config import Config

from tests.test_tools.project import ROOT

from ..espnet.rows import ROWS, ESPNetRuns, F

BESIDE = {
    'flips_f': 'calibration',
    'flips_free': 'gumbel',
    'flips_perfect': 'perfect-flips',
    'flips_recipe': 'recipe',
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return ESPNetRuns(tmp_path)


def test_rows_differ_in_the_black_box_alone(runs):
    assert {row.name for row in ROWS.values()} | {F} == BESIDE.keys()
    folder = 'projects/cpu_experiments/configs/camvid'
    for name, other in BESIDE.items():
        cfg = Config.fromfile(runs.config('', name))
        old = Config.fromfile(f'{folder}/{other}.py')
        box = cfg.model.decode_head.pop('black_box')
        assert box.type == 'TorchBlackBox' and not box.get('one_hot')
        old.model.decode_head.pop('black_box')
        for model in (cfg.model, old.model):
            (model.decode_head.calibration or {}).pop('init_cfg', None)
        assert cfg.model == old.model
        for key in ('train_cfg', 'optim_wrapper', 'param_scheduler'):
            assert cfg.get(key) == old.get(key)
        for split in ('train', 'val', 'test'):
            ours, theirs = (
                cfg[f'{split}_dataloader'],
                old[f'{split}_dataloader'],
            )
            if theirs is None:
                assert ours is None
                continue
            steps = ours.dataset.pipeline
            places = [s.type == 'LoadBlackBoxProbs' for s in steps]
            assert places.count(True) == 1
            del steps[places.index(True)]
            assert ours == theirs


def test_the_recipe_takes_over_f(runs, monkeypatch):
    asked = []

    def train(group, name, seed):
        asked.append((name, seed))
        return 'f.pth'

    monkeypatch.setattr(runs, 'train', train)
    (option,) = runs._weights('', 'flips_recipe', 2)
    cfg = Config.fromfile(runs.config('', 'flips_recipe'))
    key, value = option.split('=')
    cfg.merge_from_dict({key: value})
    init_cfg = cfg.model.decode_head.calibration.init_cfg
    assert init_cfg.checkpoint == 'f.pth' and asked == [(F, 2)]
    assert init_cfg.prefix == 'decode_head.calibration.'
    assert not runs._weights('', 'flips_free', 2)
