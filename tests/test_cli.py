import sys

import pytest
from mmengine.config import Config

from mmcar import cli
from mmcar.compat import MissingPackageError
from mmcar.models.segmentors.training import NonFiniteLossError
from mmcar.utils.errors import MissingFileError, UserError


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
        'error',
        [
            UserError('it is\n  wrong'),
            MissingFileError('it is wrong'),
            MissingPackageError('it is wrong'),
            NonFiniteLossError('it is wrong'),
        ],
    )
    def test_one_sentence(self, capsys, error):
        with pytest.raises(SystemExit) as exit_:
            cli.run_tool(fail(error))
        assert exit_.value.code == 2
        assert capsys.readouterr().err == 'x.py: error: it is wrong\n'

    def test_debug(self, monkeypatch):
        monkeypatch.setenv('MMCAR_DEBUG', '1')
        for error in (UserError('wrong'), KeyError('wrong')):
            with pytest.raises(type(error), match='wrong'):
                cli.run_tool(fail(error))

    @pytest.mark.parametrize('error', [ValueError('x'), ZeroDivisionError()])
    def test_a_bug_shows_its_traceback_and_how_to_report_it(
        self, capsys, error
    ):
        with pytest.raises(SystemExit) as exit_:
            cli.run_tool(fail(error))
        assert exit_.value.code == 1
        text = capsys.readouterr().err
        assert 'Traceback' in text and type(error).__name__ in text
        assert 'report' in text.splitlines()[-1]


class TestEnableAmp:
    def test_refuses(self, monkeypatch):
        wrapper = dict(type='ApexOptimWrapper', optimizer=dict(type='Adam'))
        for device, message in (('cpu', 'a GPU'), ('cuda', 'ApexOptimWr')):
            monkeypatch.setattr(cli, 'get_device', lambda d=device: d)
            with pytest.raises(UserError, match=message):
                cli.enable_amp(Config(dict(optim_wrapper=wrapper)))

    def test_one_or_many(self, monkeypatch):
        monkeypatch.setattr(cli, 'get_device', lambda: 'cuda')
        one = dict(type='OptimWrapper', optimizer=dict(type='Adam'))
        many = dict(
            constructor='NetworkOptimWrapperConstructor',
            generator=dict(optimizer=dict(type='Adam')),
            discriminator=one,
        )
        cfg = Config(dict(optim_wrapper=many))
        cli.enable_amp(cfg)
        for name in ('generator', 'discriminator'):
            wrapper = cfg.optim_wrapper[name]
            assert wrapper.type == 'AmpOptimWrapper'
            assert wrapper.loss_scale == 'dynamic'
        assert 'type' not in cfg.optim_wrapper
        cfg = Config(dict(optim_wrapper=one))
        cli.enable_amp(cfg)
        assert cfg.optim_wrapper.type == 'AmpOptimWrapper'
