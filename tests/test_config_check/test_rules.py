"""What the tables do not hold: files, whole configs, the page."""

from pathlib import Path

import pytest
from mmengine.config import Config

from mmcar.config_check import check_config
from tests.test_tools.scripts import load_script

ROOT = Path(__file__).parents[2]
BASE = """
crop_size = (512, 512)
norm_cfg = dict(type='SyncBN')
step = dict(type='RandomCrop', crop_size=crop_size)
model = dict(type='EncoderDecoder', backbone=dict(
    type='UNet', norm_cfg=norm_cfg))
tta_pipeline = [step]
"""


def found(folder: Path, text: str) -> set[tuple[str, str]]:
    (folder / 'base.py').write_text(BASE)
    path = folder / 'child.py'
    path.write_text(f"_base_ = './base.py'\n{text}")
    return {(f.rule, f.path) for f in check_config(Config.fromfile(path))}


@pytest.mark.parametrize(
    ('text', 'idle'),
    [
        ('crop_size = (64, 64)', True),
        ("norm_cfg = dict(type='BN')", True),
        ('crop_size = (512, 512)', False),
        ('my_own = (64, 64)', False),
        ('size = 64\nwork_dir = f"crops_{size}"', False),
        ('crop_size = 64\ntta_pipeline = [dict(a=crop_size)]', False),
    ],
)
def test_variables_that_a_base_has_used_before(tmp_path, text, idle):
    name = text.partition(' ')[0]
    assert (('idle-variable', name) in found(tmp_path, text)) is idle


def test_a_config_that_a_training_wrote_has_no_idle_variables(tmp_path):
    (tmp_path / 'base.py').write_text(BASE)
    cfg = Config.fromfile(tmp_path / 'base.py')
    cfg.crop_size = (64, 64)
    cfg.dump(tmp_path / 'dumped.py')
    read = Config.fromfile(tmp_path / 'dumped.py')
    assert 'idle-variable' not in {f.rule for f in check_config(read)}


def test_a_config_that_rules_cannot_read_is_no_bug():
    cfg = Config(dict(model=dict(type='EncoderDecoder'), default_hooks=[1]))
    assert any(finding.sure for finding in check_config(cfg))
    assert check_config(Config(dict(train_cfg=dict(phases=[1, 2]))))


def test_the_page_of_rules_is_current():
    written = (ROOT / 'docs/lookup/rules.md').read_text()
    page = load_script('validate.py').page()
    assert written.strip() == page.strip(), (
        'run: python tools/validate.py --rules > docs/lookup/rules.md'
    )


CROP = dict(type='RandomCrop', crop_size=(8, 8))
PAD = dict(type='PadAll', size=(8, 8))
LOAD = dict(type='LoadBlackBoxProbs', root='x', num_classes=2)
DIVISOR = dict(size_divisor=16)


def told(rule: str, path: str, steps: list, **model) -> bool:
    """Whether a rule warns of a place, by what training images go through."""
    dataset = dict(type='MultiAnnotatorDataset', pipeline=steps)
    cfg = dict(
        model=dict(type='CARSegmentor', **model),
        train_dataloader=dict(dataset=dataset),
    )
    return (rule, path) in {
        (f.rule, f.path) for f in check_config(Config(cfg))
    }


def test_padding_that_training_does_not_show():
    at = 'strange-padding', 'model.data_preprocessor.pad_val'
    for pad_val, test_cfg, steps, warned in (
        *((0, DIVISOR, [CROP], True), (None, DIVISOR, [CROP], False)),
        *((0, None, [CROP], False), (0, DIVISOR, [CROP, PAD], False)),
        (0, DIVISOR, [CROP, dict(PAD, padding_mode='edge')], True),
    ):
        pads = dict(type='SegDataPreProcessor', pad_val=pad_val)
        pads.update(test_cfg=test_cfg)
        assert told(*at, steps, data_preprocessor=pads) is warned


def test_what_the_black_box_sees():
    at = 'cropped-black-box', 'model.decode_head.black_box'
    head = dict(type='CARHead', black_box=dict(type='BlackBox'))
    assert told(*at, [CROP], decode_head=head)
    assert not told(*at, [LOAD, CROP], decode_head=head)
