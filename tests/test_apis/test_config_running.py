import pytest
from mmengine.config import Config

from mmcar.apis.config_parts import parts_of
from mmcar.apis.config_running import check_running
from mmcar.utils.errors import UserError

LOOPS = {
    'ours': dict(
        type='AlternatingTrainLoop', phases=[dict(iters=9, train=['net'])]
    ),
    'stock': dict(type='IterBasedTrainLoop', max_iters=9),
    'by_epoch': dict(by_epoch=True, max_epochs=9),
}


def check(**settings):
    cfg = Config(dict(default_scope='mmseg', **settings))
    check_running(cfg, list(parts_of(cfg)))


@pytest.mark.parametrize('loop', LOOPS)
@pytest.mark.parametrize(
    ('section', 'part'),
    [
        ('param_scheduler', dict(type='MultiStepLR', milestones=[2])),
        ('custom_hooks', dict(type='CheckpointHook', interval=5)),
    ],
)
def test_epochs_that_never_come(loop, section, part):
    """By the default of MMEngine, too."""
    train_cfg = LOOPS[loop]
    check(train_cfg=train_cfg, **{section: [dict(part, by_epoch=False)]})
    for epochs in (part, dict(part, by_epoch=True)):
        if loop == 'by_epoch':
            check(train_cfg=train_cfg, **{section: [epochs]})
            continue
        with pytest.raises(UserError, match=rf'{section}\[0\].by_epoch'):
            check(train_cfg=train_cfg, **{section: [epochs]})


def test_phases_and_converted_epochs_are_counted_in_iterations():
    scheduler = dict(type='MultiStepLR', milestones=[2])
    for more in (dict(begin='phase'), dict(convert_to_iter_based=True)):
        check(train_cfg=LOOPS['ours'], param_scheduler=[scheduler | more])


def test_a_span_without_an_end():
    for kind in ('CosineAnnealingLR', 'PolyLR', 'LinearLR'):
        scheduler = dict(type=kind, by_epoch=False)
        check(param_scheduler=[dict(scheduler, end=9)])
        with pytest.raises(UserError, match=r'param_scheduler\[0\].end'):
            check(param_scheduler=[scheduler])


def test_schedulers_that_nobody_steps():
    hooks = dict(param_scheduler=None)
    check(default_hooks=hooks)
    scheduler = [dict(type='MultiStepLR', milestones=[2])]
    with pytest.raises(UserError, match=r'default_hooks\.param_scheduler'):
        check(default_hooks=hooks, param_scheduler=scheduler)


def test_loops_in_the_wrong_place():
    check(val_cfg=dict(type='ValLoop'), test_cfg=dict(type='TestLoop'))
    with pytest.raises(UserError, match=r"val_cfg\.type='TestLoop'"):
        check(val_cfg=dict(type='TestLoop'))
