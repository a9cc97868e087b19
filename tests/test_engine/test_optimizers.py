import pytest
from mmengine.optim import OptimWrapperDict, build_optim_wrapper
from torch import nn

from mmcar.engine import Schedule
from mmcar.engine.optimizers import check_optimizers, place_schedulers
from mmcar.utils.errors import UserError


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.critic = nn.Linear(2, 1)

    def networks(self):
        return dict(generator=self.net, discriminator=self.critic)


ADAM = dict(type='Adam', lr=0.1, weight_decay=0.5)


def build(model=None, **cfg):
    cfg.update(constructor='NetworkOptimWrapperConstructor')
    return build_optim_wrapper(model or Model(), cfg)


def test_each_network_gets_its_own_optimiser():
    model = Model()
    optims = build(
        model,
        generator=dict(
            optimizer=ADAM,
            paramwise_cfg=dict(norm_decay_mult=0.0),
            clip_grad=dict(max_norm=1.0),
            accumulative_counts=3,
        ),
        discriminator=dict(type='OptimWrapper', optimizer=ADAM | dict(lr=0.2)),
    )
    assert isinstance(optims, OptimWrapperDict)
    generator, critic = optims['generator'], optims['discriminator']
    assert generator.clip_grad_kwargs == dict(max_norm=1.0)
    assert generator._accumulative_counts == 3
    decays = {
        id(p): group['weight_decay']
        for group in generator.optimizer.param_groups
        for p in group['params']
    }
    assert decays == {
        id(model.net[0].weight): 0.5,
        id(model.net[0].bias): 0.5,
        id(model.net[1].weight): 0.0,
        id(model.net[1].bias): 0.0,
    }
    assert critic.param_groups[0]['lr'] == 0.2
    held = {id(p) for g in critic.param_groups for p in g['params']}
    assert held == {id(p) for p in model.critic.parameters()}


@pytest.mark.parametrize(
    ('cfg', 'parts'),
    [
        (
            dict(calibration=dict(optimizer=ADAM)),
            ['optim_wrapper.calibration', "['generator', 'discriminator']"],
        ),
        (dict(type='OptimWrapper'), ['optim_wrapper.type', '_delete_=True']),
        (dict(generator=dict(lr=1)), ['optim_wrapper.generator', "{'lr': 1}"]),
        (dict(paramwise_cfg=dict(a=1)), ['optim_wrapper.paramwise_cfg']),
    ],
)
def test_refuses(cfg, parts):
    with pytest.raises(ValueError) as error:
        build(**cfg)
    assert all(part in str(error.value) for part in parts), error.value


def test_settings_for_parameters_that_are_not_there():
    def custom(**keys):
        return dict(optimizer=ADAM, paramwise_cfg=dict(custom_keys=keys))

    mult = dict(lr_mult=0.1)
    with pytest.raises(UserError, match=r'custom_keys.*backbone'):
        build(generator=custom(backbone=mult))
    # Stock configs name parameters that only some of their models have.
    build(generator=custom(backbone=mult, weight=mult))


BOTH = ('generator', 'discriminator')


@pytest.mark.parametrize(
    ('names', 'phase', 'message'),
    [
        (BOTH[:1], dict(train=BOTH), r'optim_wrapper\.discriminator'),
        (BOTH, dict(train=BOTH[:1]), r'optim_wrapper\.discriminator'),
        (BOTH[:1], dict(iters=5), r'counts=2.*phases\[0\].*5'),
        (BOTH[:1], dict(cycles=dict(generator=(3, 3))), '3 in a row'),
        (BOTH[1:], dict(train=BOTH[1:]), 'max_discriminator_accuracy=0.9'),
    ],
)
def test_optimisers_that_do_not_fit_the_phases(names, phase, message):
    each = dict(optimizer=ADAM, accumulative_counts=2)
    optims = build(**dict.fromkeys(names, each))
    given = dict(iters=12, train=BOTH[:1]) | phase
    with pytest.raises(UserError, match=message):
        check_optimizers(optims, Schedule([given]), cap=0.9)


def test_schedulers_begin_and_end_with_phases():
    turns = ((16, 'calibration'), (24, 'generator'))
    turns += ((0, 'generator'), (5, 'calibration'))
    schedule = Schedule([dict(iters=n, train=[name]) for n, name in turns])
    span = dict(type='CosineAnnealingLR', begin='phase', end='phase')
    placed = place_schedulers(span, schedule)
    spans = {k: (cfg['begin'], cfg['end']) for k, (cfg,) in placed.items()}
    assert spans == dict(calibration=(0, 45), generator=(16, 40))
    with pytest.raises(UserError, match=r'param_scheduler\.discriminator'):
        place_schedulers(dict(discriminator=[span]), schedule)
    with pytest.raises(UserError, match='by_epoch=False'):
        place_schedulers(dict(type='MultiStepLR', milestones=[2]), schedule)
