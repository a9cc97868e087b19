import pytest
from mmengine.config import Config

from mmcar.apis.config_parts import parts_of
from mmcar.apis.config_schedule import check_schedule, shortened
from mmcar.utils.errors import UserError

LOOP = dict(
    type='AlternatingTrainLoop',
    phases=[
        dict(iters=100, train=['calibration']),
        dict(iters=50, train=['generator', 'discriminator']),
    ],
)
COSINE = dict(type='CosineAnnealingLR', by_epoch=False)
POLY = dict(type='PolyLR', by_epoch=False)
LINEAR = dict(type='LinearLR', by_epoch=False, start_factor=0.1)
STEPS = dict(type='MultiStepLR', by_epoch=False, begin='phase')


def config(**settings):
    settings = dict(default_scope='mmseg', train_cfg=LOOP) | settings
    return Config(settings)


def check(**settings):
    cfg = config(**settings)
    check_schedule(cfg, list(parts_of(cfg)))


RIGHT = [
    [dict(COSINE, begin='phase', end='phase')],
    dict(calibration=dict(COSINE, end=100)),
    dict(calibration=dict(COSINE, end=95)),
    dict(calibration=dict(COSINE, end=400)),
    dict(calibration=dict(COSINE, end=50, eta_min=1e-5)),
    dict(calibration=[dict(COSINE, end=50), dict(COSINE, begin=50, end=100)]),
    dict(calibration=[dict(LINEAR, end=9), dict(POLY, begin=9, end=100)]),
]
WRONG = [
    (dict(calibration=dict(COSINE, end=50)), r'\.calibration\.end=50'),
    (dict(generator=dict(POLY, end=100)), r'\.generator\.end=100'),
    ([dict(POLY, end=100)], r'param_scheduler\[0\]\.end=100.*generator'),
    (dict(calibration=dict(LINEAR, end_factor=0.0, end=9)), 'end=9'),
    (
        dict(
            calibration=dict(COSINE, end=100),
            generator=dict(COSINE, begin='phase', end=90),
        ),
        r'param_scheduler.generator.end=90 is not after begin=100',
    ),
]


@pytest.mark.parametrize('schedulers', RIGHT)
def test_learning_rates_that_last(schedulers):
    check(param_scheduler=schedulers)


@pytest.mark.parametrize(('schedulers', 'match'), WRONG)
def test_learning_rates_that_end_early_or_never_begin(schedulers, match):
    with pytest.raises(UserError, match=match):
        check(param_scheduler=schedulers)


def test_hooks_that_begin_when_all_is_over():
    ema = dict(type='NetworkEMAHook', network='generator')
    check(custom_hooks=[dict(ema, begin=49)])
    with pytest.raises(UserError, match=r'custom_hooks\[0\].begin=50'):
        check(custom_hooks=[dict(ema, begin=50)])
    stock = dict(type='IterBasedTrainLoop', max_iters=9)
    hook = dict(type='EMAHook', begin_iter=9)
    with pytest.raises(UserError, match=r'custom_hooks\[0\].begin_iter=9'):
        check(train_cfg=stock, custom_hooks=[hook])


@pytest.mark.parametrize(
    ('scheduler', 'words'),
    [
        (dict(STEPS, milestones=[100]), 'its first step, 100 iterations'),
        (dict(POLY, end=1000, eta_min=1e-5), 'goes 10% of its way'),
        (dict(POLY, begin=200, end=300), 'begin=200 is after'),
    ],
)
def test_a_trial_of_a_long_training_is_told_once(scheduler, words):
    both = dict(calibration=scheduler, generator=dict(COSINE, end=150))
    (said,) = shortened(config(param_scheduler=both))
    assert words in said


def test_nothing_is_told_of_a_whole_training():
    whole = [dict(STEPS, milestones=[20, 900])]
    assert not list(shortened(config(param_scheduler=whole)))
    assert not list(shortened(config()))


def test_phases_that_are_none():
    for phases in ('all', [1], []):
        with pytest.raises(UserError, match=r'train_cfg\.phases'):
            check(train_cfg=dict(LOOP, phases=phases))
