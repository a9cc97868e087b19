"""No error on a right config, however unusual it is.

Of MMSegmentation's own configs ten are broken, all others are accepted.
"""

from pathlib import Path

import mmseg
import pytest
from mmengine.config import Config
from mmseg.registry import MODELS

from mmcar.config_check import Trace, check_config
from tests.test_config_check import bases, legitimate
from tests.test_config_check.changes import (
    change,
    found_by_trying,
    found_by_walk,
)

FOLDER = Path(mmseg.__file__).parent / '.mim' / 'configs'
STOCK = sorted(
    path for path in FOLDER.rglob('*.py') if '_base_' not in path.parts
)
OURS = sorted(
    path
    for path in (Path(__file__).parents[2] / 'configs').rglob('*.py')
    if '_base_' not in path.parts
)
#: Keys that nobody reads, and 20 classes for 21.
BROKEN = {
    'bisenetv2_fcn_4xb4-ohem-160k_cityscapes-1024x1024': 'models',
    'dnl_r101-d8_4xb2-80k_cityscapes-769x769': 'wd_mult',
    'dnl_r50-d8_4xb2-80k_cityscapes-769x769': 'wd_mult',
    'mobilenet-v3-d8-s_lraspp_4xb4-320k_cityscapes-512x1024': 'runner',
    'mobilenet-v3-d8-scratch-s_lraspp_4xb4-320k_cityscapes-512x1024': 'runner',
    'mobilenet-v3-d8-scratch_lraspp_4xb4-320k_cityscapes-512x1024': 'runner',
    'mobilenet-v3-d8_lraspp_4xb4-320k_cityscapes-512x1024': 'runner',
    'san-vit-b16_voc12aug-640x640': 'num_classes',
    'san-vit-l14_voc12aug-640x640': 'num_classes',
    'swin-tiny-patch4-window7_upernet_1xb8-20k_levir-256x256': 'norm_cfg',
}
#: Packages and downloads that a stock model may need to be built.
NEEDED = ('mmdet', 'mmpretrain', 'mmcv', 'download', 'network', 'install')


@pytest.fixture(scope='module')
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp('right')
    return {
        'small': bases.small(folder / 'small'),
        'stock': bases.stock(folder / 'stock'),
    }


def errors(findings) -> list[str]:
    return [str(finding) for finding in findings if finding.sure]


TRIED = [
    *(('small', changes) for changes in legitimate.OURS),
    *(('stock', changes) for changes in legitimate.STOCK),
]


def names_of(cases):
    """By number: what a change holds may print otherwise elsewhere."""
    return [str(number) for number in range(len(cases))]


@pytest.mark.parametrize(('base', 'changes'), TRIED, ids=names_of(TRIED))
def test_tried(base, changes, right, tmp_path):
    cfg = change(right[base], changes)
    assert not errors(found_by_trying(cfg, tmp_path))


@pytest.mark.parametrize(
    'changes', legitimate.UNBUILT, ids=names_of(legitimate.UNBUILT)
)
def test_checked(changes, right):
    assert not errors(found_by_walk(change(right['stock'], changes)))


def read(path: Path) -> Config:
    # Some import packages that are not here.
    return Config.fromfile(path, import_custom_modules=False)


def test_exactly_the_broken_ones_are_refused():
    assert len(STOCK) > 600
    refused = {}
    for path in STOCK:
        errors = [f for f in check_config(read(path)) if f.sure]
        if errors:
            refused[path.stem] = errors[0].path.rpartition('.')[2]
    assert refused == BROKEN


def test_few_are_warned_of():
    warned = [
        path.stem
        for path in STOCK[::10]
        if path.stem not in BROKEN and check_config(read(path))
    ]
    assert not warned


@pytest.mark.parametrize('path', OURS, ids=lambda path: path.stem)
def test_our_own_are_accepted(path):
    assert not check_config(read(path))


@pytest.mark.slow
def test_all_can_be_built():
    """Nothing but a missing package stops a config that is accepted."""
    failed = {}
    for path in STOCK[::4]:
        cfg = read(path)
        trace = Trace(cfg)
        cfg.model.pretrained = None
        try:
            with trace.building(), trace.at('model'):
                MODELS.build(cfg.model)
        except Exception as error:
            if not any(word in str(error) for word in NEEDED):
                failed[path.stem] = str(error)
    assert not failed
