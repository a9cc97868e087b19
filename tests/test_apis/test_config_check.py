"""No false alarms: neither on our configs nor on MMSeg's."""

from pathlib import Path

import mmseg
import pytest
from mmengine.config import Config

from mmcar.apis.config_check import check_config
from mmcar.utils.errors import UserError
from tests.test_configs import CONFIGS
from tests.test_tools.project import ROOT

STOCK = Path(mmseg.__file__).parent / '.mim' / 'configs'
STOCK_CONFIGS = sorted(
    path for path in STOCK.rglob('*.py') if '_base_' not in path.parts
)
# Mistakes in MMSeg's own configs: the alarm is a true one.
MISSPELT = {
    'bisenetv2_fcn_4xb4-ohem-160k_cityscapes-1024x1024.py': r"models.*'model'",
    'dnl_r50-d8_4xb2-80k_cityscapes-769x769.py': 'wd_mult.*decay_mult',
    'dnl_r101-d8_4xb2-80k_cityscapes-769x769.py': 'wd_mult.*decay_mult',
    **{
        f'mobilenet-v3-d8{kind}_lraspp_4xb4-320k_cityscapes-512x1024.py': (
            r'runner=.*320000.*train_cfg'
        )
        for kind in ('', '-s', '-scratch', '-scratch-s')
    },
    'san-vit-b16_voc12aug-640x640.py': 'num_classes=20.*21 classes',
    'san-vit-l14_voc12aug-640x640.py': 'num_classes=20.*21 classes',
    'swin-tiny-patch4-window7_upernet_1xb8-20k_levir-256x256.py': (
        'norm_cfg=.*without effect'
    ),
}
OTHER_PACKAGES = ('mmpretrain', 'mmdet', 'mmcls')


@pytest.mark.parametrize('path', CONFIGS)
def test_own_configs_pass(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    check_config(Config.fromfile(path))


def check_stock(paths: list[Path]) -> int:
    """Check all that can be read without other packages; their number."""
    checked = 0
    for path in paths:
        if path.name in MISSPELT:
            continue
        try:
            cfg = Config.fromfile(path)
        except ImportError as error:
            assert any(name in str(error) for name in OTHER_PACKAGES)
            continue
        check_config(cfg)
        checked += 1
    return checked


def test_stock_configs_pass():
    if not STOCK_CONFIGS:
        pytest.skip('this MMSeg brings no configs')
    assert check_stock(STOCK_CONFIGS[::40]) > 10


@pytest.mark.fault
def test_all_stock_configs_pass():
    if not STOCK_CONFIGS:
        pytest.skip('this MMSeg brings no configs')
    assert check_stock(STOCK_CONFIGS) > 500


@pytest.mark.parametrize('name', MISSPELT)
def test_a_stock_config_that_is_wrong(name):
    paths = [path for path in STOCK_CONFIGS if path.name == name]
    if not paths:
        pytest.skip('this MMSeg brings no such config')
    with pytest.raises(UserError, match=MISSPELT[name]):
        check_config(Config.fromfile(paths[0]))


def test_variables_are_free():
    free = dict(adam=dict(typo=1), load_all=[], data_root='x', never=3)
    check_config(Config(dict(free, work_dir='x')))
