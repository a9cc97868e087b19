"""No error on a right config, however unusual; a word on wrong ones.

Of MMSegmentation's own configs ten are broken, all others are accepted.
"""

import copy
from pathlib import Path

import mmseg
import pytest
from mmengine.config import Config
from mmseg.datasets import Albu
from mmseg.registry import MODELS

from mmcar.apis.training import dry_run
from mmcar.config_check import Trace, check_config
from tests.test_config_check import bases, corpus, own_parts

FOLDER = Path(mmseg.__file__).parent / '.mim' / 'configs'
STOCK, OURS = (
    sorted(p for p in folder.rglob('*.py') if '_base_' not in p.parts)
    for folder in (FOLDER, bases.CONFIGS)
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
#: Packages that a stock model may need to be built; the last one stands in
#: the place of a class of mmdet.
NEEDED = ('mmcv.ops', 'mmdet', 'mmpretrain', 'requirements/')
NEEDED += ('BaseModule.__init__()',)
RIGHT = corpus.read_corpus(corpus.HERE / 'legitimate.jsonl')
TRIED = [case for case in RIGHT if case.get('tried', True)]
#: What JSON cannot say: classes, tuples, numbers as keys.
IN_PYTHON = [
    dict(type='Albu', transforms=[dict(type='Own', limit=(-45, 45))]),
    dict(type=Albu, transforms=[dict(type='Own', limit=(-45, 45))]),
    dict(type=own_parts.Hounsfield, clip=(-1000, 400)),
]
LAZY = """
from mmengine.config import read_base
from mmengine.hooks import EMAHook
from mmengine.optim import PolyLR

with read_base():
    from .lazy_base import *

model.update(test_cfg=dict(mode='slide', crop_size=(32, 32), stride=(16, 16)))
param_scheduler = [dict(type=PolyLR, end=8, by_epoch=False)]
custom_hooks = [dict(type=EMAHook, momentum=0.001)]
"""
LAZY_TYPES = """
from mmseg.datasets import BaseSegDataset, LoadAnnotations, PackSegInputs
from mmseg.models import EncoderDecoder, FCNHead
"""


@pytest.fixture(scope='module')
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp('right')
    return {
        'small': bases.small(folder / 'small'),
        'stock': bases.stock(folder / 'stock'),
    }


def errors(findings) -> list[str]:
    return [str(finding) for finding in findings if finding.sure]


def test_right_ones(right, tmp_path):
    refused = []
    for case in RIGHT:
        cfg = corpus.changed(right[case['base']], case, tmp_path)
        refused += errors(corpus.found_by_walk(cfg))
    assert not refused


@pytest.mark.parametrize(
    'case',
    [
        pytest.param(c, marks=pytest.mark.slow) if i % 5 else c
        for i, c in enumerate(TRIED)
    ],
)
def test_right_ones_can_be_run(case, right, tmp_path):
    cfg = corpus.changed(right[case['base']], case, tmp_path)
    assert not errors(corpus.found_by_trying(cfg, tmp_path))


@pytest.mark.parametrize('step', IN_PYTHON)
def test_classes_in_place_of_names(step, right):
    data = dict(right['stock']['train_dataloader']['dataset'])
    data['pipeline'] = [*data['pipeline'][:2], step, data['pipeline'][-1]]
    cfg = dict(right['stock'], train_dataloader=dict(dataset=data))
    assert not errors(corpus.found_by_walk(cfg))


def test_ids_of_one_split_only(right, tmp_path):
    case = dict(change={'train_dataloader.dataset.label_map': {7: 1}})
    cfg = corpus.changed(right['small'], case, tmp_path)
    assert not errors(corpus.found_by_trying(cfg, tmp_path))


def test_classes_that_are_imported(right, tmp_path):
    """A config in the new style, with ``read_base()``."""
    settings = Config(right['stock']).dump()
    for name in ('EncoderDecoder', 'FCNHead', 'BaseSegDataset'):
        settings = settings.replace(f"type='{name}'", f'type={name}')
    (tmp_path / 'lazy_base.py').write_text(LAZY_TYPES + settings)
    (tmp_path / 'lazy.py').write_text(LAZY)
    cfg = Config.fromfile(tmp_path / 'lazy.py')
    assert callable(cfg.model.type)
    assert not check_config(cfg)
    cfg.update(work_dir=str(tmp_path), experiment_name='lazy')
    assert 'Total' in dry_run(cfg)


def read(path: Path) -> Config:
    # Some import packages that are not here.
    return Config.fromfile(path, import_custom_modules=False)


def test_exactly_the_broken_ones_are_refused():
    assert len(STOCK) > 600
    refused, warned = {}, []
    for path in STOCK:
        found = check_config(read(path))
        if errors(found):
            refused[path.stem] = found[0].path.rpartition('.')[2]
        elif found:
            warned.append(path.stem)
    assert refused == BROKEN
    assert not warned


@pytest.mark.parametrize('path', OURS, ids=lambda path: path.stem)
def test_our_own_are_accepted(path):
    assert not check_config(read(path))


@pytest.mark.slow
def test_all_can_be_built():
    """Nothing but a missing package stops one: 62 of 681 by mmcv-lite."""
    built, failed = 0, {}
    for path in STOCK:
        cfg = read(path)
        trace = Trace(cfg)
        cfg.model.pretrained = None
        try:
            with trace.building(), trace.at('model'):
                MODELS.build(cfg.model)
            built += 1
        except Exception as error:
            if not any(word in str(error) for word in NEEDED):
                failed[path.stem] = str(error)
    assert built > 600 and not failed


WRONG = corpus.read_corpus(corpus.HERE / 'wrong.jsonl')
#: Rules that need more than a walk.
BY_TRIAL = ('read', 'build', 'preflight', 'wrong-step', 'best-score', '-')
BY_TRIAL += ('other-units', 'random-weights')
NAMED, TOLD = 0.85, 0.95  # shares that are refused, and at least warned of


@pytest.mark.parametrize('base', [copy.deepcopy, corpus.inherited])
def test_what_a_walk_finds(base, tmp_path):
    """The same on top of a stock config, whose dicts have a scope."""
    small = base(bases.small(tmp_path))
    cases = [c for c in WRONG if c['base'] == 'small']
    cases = [case for case in cases if case['rule'] not in BY_TRIAL]
    assert len(cases) > 300
    missed = []
    for case in cases:
        found = corpus.found_by_walk(corpus.changed(small, case, tmp_path))
        if case['rule'] not in {f.rule for f in corpus.named(case, found)}:
            missed.append(case)
    assert not missed, missed


SOME = [c for c in WRONG if c['rule'] in ('build', 'preflight')][::32]


@pytest.mark.parametrize(('number', 'case'), enumerate(SOME))
def test_some_that_are_tried(number, case, tmp_path):
    on_mmseg = bool(number % 2)
    assert corpus.outcome(case, tmp_path, on_mmseg) == 'refused'


@pytest.mark.slow
def test_all():
    """On top of a stock config as many are found as else."""
    refused = []
    for on_mmseg in (False, True):
        found = corpus.try_all(corpus.HERE / 'wrong.jsonl', on_mmseg)
        assert {*found} <= {'refused', 'told', 'missed'}
        refused.append(found['refused'] / found.total())
        assert refused[-1] >= NAMED
        assert refused[-1] + found['told'] / found.total() >= TOLD
    assert abs(refused[0] - refused[1]) < 0.01
