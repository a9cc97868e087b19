import pytest
from mmengine.config import Config

from mmcar.apis.config_consistency import check_consistency
from mmcar.utils.errors import UserError
from tests.toys import toy_config


def config(**dataset) -> Config:
    loader = dict(dataset=dict(type='LIDCDataset', **dataset))
    return Config(dict(model=toy_config(), train_dataloader=loader))


def test_classes_of_the_class_count():
    check_consistency(config())
    cfg = config()
    cfg.model.decode_head.num_classes = 3
    with pytest.raises(UserError, match=r'num_classes=3.*LIDCDataset.*2'):
        check_consistency(cfg)


def test_classes_of_the_config_come_first():
    with pytest.raises(UserError, match=r'metainfo.classes has 3 classes'):
        check_consistency(config(metainfo=dict(classes=('a', 'b', 'c'))))


def test_twins_are_no_classes_for_a_model_of_labels_without_flips():
    cfg = config(
        metainfo=dict(classes=('a', 'b', 'b2'), class_flips=((1, 2, 0.5),))
    )
    check_consistency(cfg)
    cfg.train_dataloader.dataset.pipeline = [dict(type='RandomClassFlips')]
    with pytest.raises(UserError, match='has 3 classes'):
        check_consistency(cfg)


def test_defaults_count_for_the_ignore_index():
    cfg = config()
    cfg.model.decode_head.ignore_index = 0
    with pytest.raises(UserError, match='for unlabelled'):
        check_consistency(cfg)


def test_default_number_of_samples():
    cfg = config()
    cfg.model.test_cfg = dict()
    cfg.val_evaluator = dict(type='GEDMetric', num_samples=(16, 17))
    with pytest.raises(UserError, match=r'test_cfg.num_samples=16'):
        check_consistency(cfg)
    cfg.val_evaluator.num_samples = (1, 16)
    check_consistency(cfg)
