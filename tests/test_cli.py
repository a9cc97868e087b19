import json
import sys

import pytest
import torch
from mmengine.config import Config
from torch import nn

from mmcar import cli


def fail(error):
    def main():
        raise error

    return main


class TestRunTool:
    @pytest.fixture(autouse=True)
    def tool(self, monkeypatch):
        monkeypatch.setattr(sys, 'argv', ['tools/x.py'])
        monkeypatch.delenv('MMCAR_DEBUG', raising=False)

    @pytest.mark.parametrize(
        'error', [cli.UserError('it is\n  wrong'), ValueError('it is wrong')]
    )
    def test_one_sentence(self, capsys, error):
        with pytest.raises(SystemExit) as exit_:
            cli.run_tool(fail(error))
        assert exit_.value.code == 2
        assert capsys.readouterr().err == 'x.py: error: it is wrong\n'

    def test_debug(self, monkeypatch):
        monkeypatch.setenv('MMCAR_DEBUG', '1')
        with pytest.raises(ValueError, match='wrong'):
            cli.run_tool(fail(ValueError('wrong')))

    def test_a_bug_keeps_its_traceback(self):
        with pytest.raises(ZeroDivisionError):
            cli.run_tool(fail(ZeroDivisionError()))


class TestEnableAmp:
    def test_refuses_cpu(self, monkeypatch):
        monkeypatch.setattr(cli, 'get_device', lambda: 'cpu')
        with pytest.raises(cli.UserError, match='needs a GPU'):
            cli.enable_amp(Config())

    def test_one_or_many(self, monkeypatch):
        monkeypatch.setattr(cli, 'get_device', lambda: 'cuda')
        optimizer = dict(type='Adam')
        many = dict(
            constructor='NetworkOptimWrapperConstructor',
            generator=dict(optimizer=optimizer, clip_grad=dict(max_norm=1)),
            discriminator=dict(type='OptimWrapper', optimizer=optimizer),
        )
        cfg = Config(dict(optim_wrapper=many))
        cli.enable_amp(cfg)
        for name in ('generator', 'discriminator'):
            wrapper = cfg.optim_wrapper[name]
            assert wrapper.type == 'AmpOptimWrapper'
            assert wrapper.loss_scale == 'dynamic'
        assert 'type' not in cfg.optim_wrapper
        one = dict(type='OptimWrapper', optimizer=optimizer)
        cfg = Config(dict(optim_wrapper=one))
        cli.enable_amp(cfg)
        assert cfg.optim_wrapper.type == 'AmpOptimWrapper'

    def test_refuses_other_wrappers(self, monkeypatch):
        monkeypatch.setattr(cli, 'get_device', lambda: 'cuda')
        wrapper = dict(type='ApexOptimWrapper', optimizer=dict(type='Adam'))
        with pytest.raises(cli.UserError, match='ApexOptimWrapper'):
            cli.enable_amp(Config(dict(optim_wrapper=wrapper)))


class TestFindMismatch:
    def test_same(self):
        model = nn.Linear(2, 3)
        assert cli.find_mismatch(model, nn.Linear(2, 3).state_dict()) is None

    def test_extra_weights_are_fine(self):
        weights = {**nn.Linear(2, 3).state_dict(), 'aux': torch.zeros(1)}
        assert cli.find_mismatch(nn.Linear(2, 3), weights) is None

    def test_missing_and_shape(self):
        weights = {'weight': torch.zeros(4, 2)}
        problem = cli.find_mismatch(nn.Linear(2, 3), weights)
        assert 'bias' in problem
        assert 'size mismatch for weight' in problem


def test_write_json_replaces_whole(tmp_path):
    path = tmp_path / 'new' / 'a.json'
    cli.write_json(path, dict(a=1))
    with pytest.raises(TypeError):
        cli.write_json(path, dict(a=object()))
    assert json.loads(path.read_text()) == dict(a=1)


def test_format_table():
    table = cli.format_table([['score', 'v'], ['GED_16', '0.1']])
    assert table.splitlines() == ['score     v', '-' * 11, 'GED_16  0.1']
