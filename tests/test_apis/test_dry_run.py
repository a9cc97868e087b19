from types import SimpleNamespace

import pytest
from mmengine.config import Config

from mmcar.apis.dry_run import dry_run, number_of_validations
from mmcar.utils.errors import UserError
from tests.test_wrong_configs.running import right_config


def test_report(tmp_path):
    cfg = Config(
        dict(
            right_config(tmp_path / 'data'),
            work_dir=str(tmp_path / 'work'),
            experiment_name='dry_run',
        )
    )
    report = dry_run(cfg)
    for words in (
        'CARSegmentor, 2 classes',
        '1,410 parameters',
        'train  4 images, 2 in a batch: inputs 3x16x16, labels 1x16x16',
        'val    4 images, 2 in a batch: inputs 3x16x16, labels 2x16x16',
        'train_cfg.phases[0]         4 iterations of calibration',
        'train_cfg.phases[1]         4 iterations of generator, discrim',
        'GED_3',
        'GB at most',
        f'in {tmp_path / "work"}',
        'Total',
    ):
        assert words in report
    assert not (tmp_path / 'work').exists(), 'nothing is written'


@pytest.mark.parametrize(
    ('begin', 'interval', 'end', 'times'),
    [(1, 4, 8, 2), (1, 3, 8, 3), (100, 3, 8, 0), (5, 3, 8, 2), (1, 20, 8, 1)],
)
def test_number_of_validations(begin, interval, end, times):
    loop = SimpleNamespace(
        schedule=None, max_iters=end, val_begin=begin, val_interval=interval
    )
    assert number_of_validations(SimpleNamespace(train_loop=loop)) == times


def test_a_config_that_is_only_tested(tmp_path):
    cfg = right_config(tmp_path / 'data')
    cfg['test_dataloader'] = cfg.pop('val_dataloader')
    cfg['test_evaluator'] = cfg.pop('val_evaluator')
    cfg['test_cfg'] = dict(type='TestLoop')
    for key in ('train_dataloader', 'train_cfg', 'optim_wrapper', 'val_cfg'):
        cfg.pop(key)
    cfg.update(
        param_scheduler=None,
        custom_hooks=[],
        work_dir=str(tmp_path / 'work'),
        experiment_name='dry_run_test_only',
    )
    report = dry_run(Config(cfg))
    assert 'test   4 images, 2 in a batch: inputs 3x16x16' in report
    assert 'by tools/test.py' in report and 'GED_3' in report
    assert 'Total' not in report and 'Checkpoints' not in report
    assert not (tmp_path / 'work').exists(), 'nothing is written'
    cfg['test_evaluator'][0]['num_samples'] = 99
    with pytest.raises(UserError, match='test_evaluator'):
        dry_run(Config(cfg))
