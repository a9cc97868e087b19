import pytest
from mmengine.config import Config

from mmcar.apis.config_parts import parts_of
from mmcar.apis.config_values import check_values
from mmcar.utils.errors import UserError


def check(**settings):
    check_values(list(parts_of(Config(settings))))


def test_signs_of_schedulers_and_gradients():
    step = dict(type='MultiStepLR', milestones=[2], last_step=-1)
    check(param_scheduler=[step])
    with pytest.raises(UserError, match=r'param_scheduler\[0\].gamma=-1'):
        check(param_scheduler=[dict(step, gamma=-1.0)])
    with pytest.raises(UserError, match=r'clip_grad.max_norm=-1'):
        check(optim_wrapper=dict(clip_grad=dict(max_norm=-1.0)))


@pytest.mark.parametrize(
    ('metainfo', 'words'),
    [
        (dict(classes='background'), 'list of names'),
        (dict(classes=['a', 'b', 'a']), r"\['a'\] more than once"),
        (dict(classes=['a', 'b'], palette=[[0, 0, 0]]), '1 colours for 2'),
        (dict(classes=['a'], palette=[[0, 0, 256]]), 'from 0 to 255'),
    ],
)
def test_metainfo(metainfo, words):
    loader = dict(dataset=dict(type='LIDCDataset', metainfo=metainfo))
    with pytest.raises(UserError, match=words):
        check(train_dataloader=loader)


def test_a_file_of_names(tmp_path):
    path = tmp_path / 'classes.txt'
    path.write_text('a')
    metainfo = dict(classes=str(path), palette=[[0, 0, 0]])
    check(train_dataloader=dict(dataset=dict(metainfo=metainfo)))


def test_priorities():
    hook = dict(type='R1Hook')
    for priority in ('NORMAL', 'very_low', 30):
        check(custom_hooks=[dict(hook, priority=priority)])
    with pytest.raises(UserError, match=r'priority=.URGENT.*NORMAL'):
        check(custom_hooks=[dict(hook, priority='URGENT')])
