"""Code in the documentation runs as it stands there."""

import re

import pytest
import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from tests.test_tools.project import ROOT
from tests.toys import toy_batch, toy_model, toy_optims

PAGES = [
    ROOT / 'README.md',
    *sorted(ROOT.glob('docs/**/*.md')),
    *sorted(ROOT.glob('projects/*/README.md')),
    ROOT / 'configs' / 'car' / 'README.md',
]


def code_blocks(path: str) -> list[str]:
    text = (ROOT / path).read_text()
    return re.findall(r'```python\n(.*?)```', text, flags=re.DOTALL)


@pytest.fixture
def own_parts():
    """Blocks of the page that register something; what they registered."""
    before = dict(MODELS.module_dict)
    blocks = code_blocks('docs/do/extend.md')
    for block in blocks:
        if 'register_module' in block:
            exec(block, {'__name__': 'my_project'})
    yield blocks
    for name in MODELS.module_dict.keys() - before.keys():
        MODELS.module_dict.pop(name)


def test_parts_of_ones_own(own_parts):
    """Every model config of the page trains and predicts."""
    seen = set()
    for block in own_parts:
        if not block.startswith('model = '):
            continue
        scope = {}
        exec(block, scope)
        model = toy_model(**scope['model'])
        logs = model.train_step(toy_batch(), toy_optims(model))
        assert all(torch.as_tensor(v).isfinite() for v in logs.values())
        assert model.eval().test_step(toy_batch())[0].pred_samples
        seen |= logs.keys()
        seen |= {type(part).__name__ for part in model.modules()}
    assert {
        'loss_crisp',
        'CrossEntropyLoss',
        'LinearCalibration',
        'ShiftedLogits',
    } <= seen


MY_CONFIG = """
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(type='SegDataPreProcessor'),
    backbone=dict(type='UNet', base_channels=4),
    decode_head=dict(
        type='FCNHead',
        in_channels=4,
        in_index=4,
        channels=4,
        num_classes=19,
    ),
    test_cfg=dict(mode='whole'),
)
"""


def test_wrapping_a_model_without_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'my_config.py').write_text(MY_CONFIG)
    torch.manual_seed(0)
    mine = MODELS.build(Config.fromfile('my_config.py').model)
    torch.save(dict(state_dict=mine.state_dict()), 'my_weights.pth')
    (tmp_path / 'car.py').write_text(code_blocks('README.md')[0])
    model = MODELS.build(Config.fromfile('car.py').model)
    assert not any(p.requires_grad for p in model.parameters())
    sample = model.test_step(toy_batch(num_classes=19, batch_size=1))[0]
    assert sample.pred_samples.data.shape == (16, 16, 16)
    assert len(sample.pred_samples.data.unique()) > 1


def test_links_of_the_docs():
    for page in PAGES:
        for link in re.findall(r'\]\(([^)#]+)\)', page.read_text()):
            if '://' not in link:
                assert (page.parent / link).exists(), f'{page.name}: {link}'


def test_paths_that_the_docs_name():
    named = re.compile(r'(?:tools|configs|projects)/[\w./-]+\.(?:py|sh)')
    for page in PAGES:
        for path in set(named.findall(page.read_text())):
            assert (ROOT / path).exists(), f'{page.name} names {path}'
