import pytest
from mmengine.optim import OptimWrapperDict, build_optim_wrapper
from torch import nn

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
