import pytest
from mmengine.config import Config
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


def test_the_part_that_fails_is_named():
    cfg = Config(dict(model=toy_config()))
    model = MODELS.build(cfg.model)
    with (
        pytest.raises(ConfigError, match=r'model.decode_head.calibration'),
        naming_keys(cfg),
    ):
        model.decode_head.calibration(None)


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
