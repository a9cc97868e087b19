"""Whatever fails, its path is said first, and nothing stays changed."""

import errno

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from mmseg.registry import MODELS

from mmcar.config_check import ConfigError, Trace
from mmcar.utils.errors import UserError
from tests.toys import toy_config


def paths(caught) -> list[str]:
    return [finding.path for finding in caught.value.findings]


def test_the_innermost_part_is_named():
    cfg = Config(dict(model=toy_config()))
    cfg.model.decode_head.generator.depth = 0
    trace = Trace(cfg)
    with pytest.raises(ConfigError) as caught, trace.building():
        MODELS.build(cfg.model)
    assert paths(caught) == ['model.decode_head.generator']
    assert isinstance(caught.value.__cause__, UserError)


def test_all_is_as_before_afterwards():
    functions = MODELS.build_func, HOOKS.build_func, vars(Runner).copy()
    trace = Trace(Config(dict(model=toy_config())))
    with pytest.raises(ZeroDivisionError), trace.building():
        assert MODELS.build_func is not functions[0]
        raise ZeroDivisionError
    assert (MODELS.build_func, HOOKS.build_func) == functions[:2]
    assert vars(Runner) == functions[2]
    assert not trace.stack


def test_the_part_that_computes_is_named():
    cfg = Config(dict(model=toy_config()))
    trace = Trace(cfg)
    with trace.building():
        model = MODELS.build(cfg.model)
    network = model.decode_head.calibration
    with (
        pytest.raises(ConfigError) as caught,
        trace.running(),
        trace.at('train_cfg', 'preflight'),
    ):
        network(torch.zeros(1, 7, 16, 16))
    assert paths(caught) == ['model.decode_head.calibration']
    assert not trace.stack
    with trace.running(), torch.no_grad():
        network(torch.zeros(1, 3, 16, 16))
    assert not trace.stack


def test_what_the_machine_lacks_is_no_fault_of_the_config():
    trace = Trace(Config(dict(model=toy_config())))
    with pytest.raises(OSError, match='space'), trace.at('model'):
        raise OSError(errno.ENOSPC, 'no space left')
