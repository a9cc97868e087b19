import pytest
import torch
from mmengine.config import Config
from mmengine.registry import HOOKS, OPTIMIZERS
from mmseg.registry import MODELS

from mmcar.apis.config_errors import ConfigError, naming_keys
from mmcar.utils.errors import UserError
from tests.toys import toy_config


def test_the_part_that_cannot_be_built_is_named():
    cfg = Config(dict(model=toy_config()))
    del cfg.model.decode_head['generator']['noise_size']
    cfg.model.decode_head.generator.depth = 'deep'
    with (
        pytest.raises(ConfigError, match=r'model\.decode_head\.generator'),
        naming_keys(cfg),
    ):
        MODELS.build(cfg.model)


def test_what_another_package_refuses_is_the_configs_mistake():
    cfg = Config(dict(optim_wrapper=dict(type='SGD', lr=-1.0)))
    weight = torch.nn.Parameter(torch.zeros(1))
    with (
        pytest.raises(ConfigError, match=r'optim_wrapper.*learning rate: -1'),
        naming_keys(cfg, 'optim_wrapper'),
    ):
        OPTIMIZERS.build(dict(cfg.optim_wrapper, params=[weight]))


@pytest.mark.parametrize('inside_torch', [False, True])
def test_a_bug_stays_as_it_is_and_names_the_part(inside_torch, monkeypatch):
    cfg = Config(dict(model=toy_config()))
    model = MODELS.build(cfg.model)
    calibration = model.decode_head.calibration
    if inside_torch:
        monkeypatch.setattr(calibration, 'predict_logits', torch.zeros(2).add)
        wrong = torch.zeros(1, 3, 8, 8), None
        kind = RuntimeError
    else:
        wrong, kind = (None,), AttributeError
    with (
        pytest.raises(kind) as caught,
        naming_keys(cfg, 'outer'),
        naming_keys(cfg, 'inner'),
    ):
        calibration(*wrong)
    if hasattr(caught.value, 'add_note'):
        assert len(caught.value.__notes__) == 1
        assert 'model.decode_head.calibration' in caught.value.__notes__[0]


def test_our_own_constructors_know_what_they_refuse(monkeypatch):
    cfg = Config(dict(model=toy_config()))

    def buggy(*args, **kwargs):
        raise ValueError('not meant for users')

    place = 'mmcar.models.segmentors.car_segmentor.complete'
    monkeypatch.setattr(place, buggy)
    with (
        pytest.raises(ValueError, match='not meant') as caught,
        naming_keys(cfg),
    ):
        MODELS.build(cfg.model)
    assert not isinstance(caught.value, UserError)


def test_a_key_is_named_once():
    cfg = Config(dict())
    with (
        pytest.raises(ConfigError) as caught,
        naming_keys(cfg, 'outer'),
        naming_keys(cfg, 'inner'),
    ):
        raise UserError('wrong')
    assert str(caught.value) == 'inner: wrong'


def test_what_the_machine_lacks_passes():
    with pytest.raises(PermissionError), naming_keys(Config(dict())):
        raise PermissionError(13, 'x', 'y')


def test_settings_that_a_part_hands_on():
    cfg = Config(dict(model=toy_config()))
    cfg.model.decode_head.generator.gumbel = dict(correlation=4)
    with (
        pytest.raises(ConfigError, match=r"generator.*'correlation'"),
        naming_keys(cfg),
    ):
        MODELS.build(cfg.model)


def test_parts_of_another_package_that_do_not_fit():
    norm = dict(type='BN')
    head = dict(
        type='FCNHead', in_channels=9, in_index=4, channels=4, norm_cfg=norm
    )
    cfg = Config(dict(model=toy_config()))
    cfg.model.decode_head.calibration = dict(
        type='MMSegCalibration',
        backbone=dict(type='UNet', base_channels=4, norm_cfg=norm),
        decode_head=head,
    )
    calibration = MODELS.build(cfg.model).decode_head.calibration
    with (
        pytest.raises(ConfigError, match=r'FCNHead\) with in_channels=9'),
        naming_keys(cfg),
    ):
        calibration(torch.zeros(2, 3, 16, 16), None)


def test_a_hook_that_fails_inside_mmengine():
    """MMEngine raises an error of its own in place of a hook's."""
    cfg = Config(dict(custom_hooks=[dict(type='EMAHook', momentum='x')]))
    hook = HOOKS.build(cfg.custom_hooks[0])

    def call_hook() -> None:
        try:
            hook.before_run(None)
        except (TypeError, AttributeError) as error:
            raise TypeError(f'{error} in {hook}') from None

    hook.before_run = lambda runner: hook.after_load_checkpoint(runner, 5)
    with pytest.raises(TypeError) as caught, naming_keys(cfg):
        call_hook()
    if hasattr(caught.value, 'add_note'):
        assert 'custom_hooks[0] (EMAHook)' in caught.value.__notes__[0]
