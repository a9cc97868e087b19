"""Configs by package, and texts of configs told from code."""

from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.hub import get_config

from mmcar.compat import configs
from mmcar.compat.configs import is_plain_config, read_config
from tests.test_tools.project import ROOT


def test_stock_configs_are_found():
    cfg = read_config('mmseg::_base_/models/fcn_unet_s5-d16.py')
    assert cfg.model.type == 'EncoderDecoder'
    cfg = get_config('mmseg::unet/unet-s5-d16_fcn_4xb4-40k_hrf-256x256.py')
    assert cfg.model.type == 'EncoderDecoder'
    base = Config._get_cfg_path('mmseg::_base_/default_runtime.py', '')
    assert Path(base[0]).is_file()


class TestOwnConfigs:
    def test_as_base(self, tmp_path):
        path = tmp_path / 'mine.py'
        path.write_text(
            "_base_ = 'mmcar::car/car_lidc.py'\nrandomness = dict(seed=7)\n"
        )
        mine = Config.fromfile(path)
        expected = Config.fromfile(ROOT / 'configs/car/car_lidc.py')
        expected.randomness.seed = 7
        assert mine.to_dict() == expected.to_dict()

    def test_of_a_wheel(self, tmp_path, monkeypatch):
        """A wheel has them inside the package, and no folder beside it."""
        monkeypatch.setattr(configs, 'PACKAGE', tmp_path / 'mmcar')
        folder = tmp_path / 'mmcar' / '.mim' / 'configs' / 'car'
        folder.mkdir(parents=True)
        (folder / 'car_lidc.py').write_text("model = dict(type='Wheel')\n")
        cfg = read_config('mmcar::car/car_lidc.py')
        assert cfg.model.type == 'Wheel'

    def test_missing_or_out_of_the_folder(self):
        with pytest.raises(FileNotFoundError, match=r'mmcar::car/nope\.py'):
            read_config('mmcar::car/nope.py')
        with pytest.raises(ValueError, match='leads out of'):
            read_config('mmcar::../setup.py')


class TestPlainConfig:
    def test_a_dumped_config_is_plain(self):
        cfg = read_config('mmcar::car/car_deeplabv3_cityscapes24.py')
        assert is_plain_config(cfg.pretty_text)

    @pytest.mark.parametrize(
        'text',
        [
            *("a = __import__('os')", 'dict = print\na = dict(1)'),
            *("a = dict.fromkeys('ab')", "a = f'{print(1)}'", 'a = dict(*b)'),
            *("_base_ = '/tmp/evil.py'", "a = '{{ $HOME:x }}'", 'a = (', None),
        ],
    )
    def test_more_than_data(self, text):
        assert not is_plain_config(text)
