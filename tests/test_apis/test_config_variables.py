import pytest
from mmengine.config import Config

from mmcar.apis.config_variables import check_options, check_variables
from mmcar.utils.errors import UserError

BASE = """
crop_size = (8, 8)
learning_rate = 0.1
classes = ('a', 'b')
train_pipeline = [dict(type='RandomCrop', crop_size=crop_size)]
optim_wrapper = dict(optimizer=dict(type='SGD', lr=learning_rate))
train_dataloader = dict(dataset=dict(
    type='BaseSegDataset',
    metainfo=dict(classes=classes),
    pipeline=train_pipeline))
val_evaluator = dict(type='GEDMetric', classes=('b',))
"""
KNOWN = frozenset(
    ('optim_wrapper', 'train_dataloader', 'train_pipeline', 'val_evaluator')
)


def config(folder, text):
    (folder / 'base.py').write_text(BASE)
    path = folder / 'child.py'
    path.write_text("_base_ = './base.py'\n" + text)
    return Config.fromfile(path)


@pytest.mark.parametrize(
    'text, sentence',
    [
        ('crop_size = (4, 4)', r'crop_size=.*pipeline\[0\]\.crop_size'),
        ('learning_rate = 0.2', 'learning_rate=.*only a base reads it'),
        ('lr = 0.2', r'lr=.*optim_wrapper\.optimizer\.lr=0.1'),
        ("optimizer = dict(type='Adam', lr=1.0)", 'optimizer=.*optim_wrapper'),
        ('shuffle = True\ncrop_size = 4', 'crop_size=4'),
        ('train_pipeline = []', r'train_dataloader\.dataset\.pipeline'),
        ("classes = ('a', 'c')", r'Set train_dataloader\.dataset\.metainfo'),
    ],
)
def test_what_is_without_effect(tmp_path, text, sentence):
    with pytest.raises(UserError, match=sentence):
        check_variables(config(tmp_path, text), KNOWN)


@pytest.mark.parametrize(
    'text',
    [
        '',
        'crop_size = (8, 8)',  # the same
        'learning_rate = 0.1',
        'lr = 0.1',  # a note
        'train_pipeline = [dict(type="Pad")]\ntrain_dataloader = dict('
        'dataset=dict(pipeline=train_pipeline))',
        # The same, written once more.
        'train_pipeline = [dict(type="Pad")]\ntrain_dataloader = dict('
        'dataset=dict(pipeline=[dict(type="Pad")]))',
        'mine = 3',  # nothing is called so
        'size = (4, 4)\nmodel = dict(test_cfg=dict(crop_size=size))',
        'adam = dict(type="Adam", lr=1.0)',
        'crop_size = (4, 4)\ntrain_dataloader = dict(dataset=dict('
        'pipeline=[dict(type="RandomCrop", crop_size=crop_size)]))',
        'crop_size = (4, 4)\nlauncher = "none"',  # written by a training
        'x = _base_.crop_size\ny = {{_base_.learning_rate}}',
    ],
)
def test_what_does_no_harm(tmp_path, text):
    check_variables(config(tmp_path, text), KNOWN)


def test_an_old_optimizer_in_a_config_without_variables(tmp_path):
    wrapper = dict(optimizer=dict(type='Adam', lr=0.1))
    wrong = Config(dict(optimizer=dict(type='SGD'), optim_wrapper=wrapper))
    with pytest.raises(UserError, match=r'optimizer=.*optim_wrapper'):
        check_variables(wrong, KNOWN)
    check_variables(Config(dict(wrapper, optim_wrapper=wrapper)), KNOWN)


def test_options(tmp_path):
    cfg = config(tmp_path, '')
    check_options(cfg, {'optim_wrapper.optimizer.lr': 1}, KNOWN)
    with pytest.raises(UserError, match=r'crop_size: no part.*pipeline\[0\]'):
        check_options(cfg, {'crop_size': 4}, KNOWN)
    with pytest.raises(UserError, match="reads 'traindataloader'"):
        check_options(cfg, {'traindataloader.batch_size': 4}, KNOWN)


def test_a_config_that_a_program_wrote(tmp_path):
    cfg = config(tmp_path, '')
    cfg.train_dataloader.dataset.pipeline[0].crop_size = (2, 2)
    path = tmp_path / 'dumped.py'
    cfg.dump(path)
    check_variables(Config.fromfile(path), KNOWN)
