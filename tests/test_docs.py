"""Pages of the documentation: code runs, links lead somewhere, few words."""

import argparse
import ast
import importlib
import re
import shlex
import shutil
import sys

import pytest
import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from tests.test_tools.project import ROOT, run
from tests.test_tools.scripts import load_script
from tests.toys import toy_batch, toy_model, toy_optims

DOCS = sorted(ROOT.glob('docs/**/*.md'))
OURS = [
    *(ROOT / 'configs/car/README.md', ROOT / 'demo/README.md'),
    *(*sorted(ROOT.glob('*.md')), *DOCS),
]
PAGES = [*OURS, *sorted(ROOT.glob('projects/*/*.md'))]
SOURCES = [p for d in ('mmcar', 'tools') for p in (ROOT / d).rglob('*.py')]
FENCED = re.compile(r'```(\w*).*?\n(.*?)```', re.S)


def code_blocks(path: str, kind: str = 'python') -> list[str]:
    found = FENCED.findall((ROOT / path).read_text())
    return [code for language, code in found if language == kind]


def prose(text: str) -> str:
    """A page without code and addresses."""
    text = FENCED.sub('', text)
    return re.sub(r'`[^`\n]*`|\]\([^)]*\)', '', text)


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
        *('loss_crisp', 'CrossEntropyLoss', 'LinearCalibration'),
        'ShiftedLogits',
    } <= seen


MY_CONFIG = """
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(type='SegDataPreProcessor'),
    backbone=dict(type='UNet', base_channels=4),
    decode_head=dict(
        type='FCNHead', in_channels=4, in_index=4, channels=4, num_classes=19),
    test_cfg=dict(mode='whole'),
)
"""


def test_wrapping_a_model_without_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'my_config.py').write_text(MY_CONFIG)
    torch.manual_seed(0)
    mine = MODELS.build(Config.fromfile('my_config.py').model)
    torch.save(dict(state_dict=mine.state_dict()), 'my_weights.pth')
    (tmp_path / 'car.py').write_text(code_blocks('docs/do/own_model.md')[0])
    model = MODELS.build(Config.fromfile('car.py').model)
    assert not any(p.requires_grad for p in model.parameters())
    sample = model.test_step(toy_batch(num_classes=19, batch_size=1))[0]
    assert sample.pred_samples.data.shape == (16, 16, 16)
    assert len(sample.pred_samples.data.unique()) > 1


def anchors(page):
    """Names of a page's headings in links."""
    heads = re.findall(r'(?m)^#+ (.*)$', FENCED.sub('', page.read_text()))
    plain = (re.sub(r'[^\w\- ]', '', head.lower()) for head in heads)
    return {head.strip().replace(' ', '-') for head in plain}


def test_links():
    link = re.compile(r'\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)')
    for page in PAGES:
        for path, anchor in link.findall(FENCED.sub('', page.read_text())):
            target = page.parent / path if path else page
            assert target.exists(), f'{page}: {path}'
            if anchor:
                assert anchor in anchors(target), f'{page}: {path}#{anchor}'


def test_every_page_is_in_the_index_and_has_a_picture():
    index = (ROOT / 'docs/index.md').read_text()
    for page in DOCS:
        name = str(page.relative_to(ROOT / 'docs'))
        assert page.name == 'index.md' or f']({name})' in index, name
        assert page.name == 'rules.md' or '![' in page.read_text(), name


def test_paths_that_pages_and_messages_name():
    named = (
        r'(?<![\w/.-])(?:docs|tools|configs|projects|mmcar|tests)/[\w./-]+'
        r'(?:\.(?:py|sh|md)|/)(?![\w./-])'
    )
    for page in [*PAGES, *SOURCES]:
        for path in {*re.findall(named, page.read_text())}:
            assert (ROOT / path).exists(), f'{page} names {path}'


def test_number_of_words():
    """As `wc -w` counts them."""
    words = {page: len(page.read_text().split()) for page in OURS}
    assert words[ROOT / 'README.md'] <= 700
    assert 0 < sum(words.values()) <= 20000


def messages(path):
    """Texts of a module; the docstring of a tool is what `--help` says."""
    tree = ast.parse(path.read_text())
    helps = tree.body[:1] if 'tools' in path.parts else []
    notes = [n for n in ast.walk(tree) if isinstance(n, ast.Expr)]
    silent = {id(note.value) for note in notes if note not in helps}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in silent:
            yield node.value if ' ' in str(node.value) else ''


def test_one_word_for_one_thing():
    """Words that the glossary has replaced do not come back."""
    retired = re.compile(
        r'\b(?:readers?|raters?|observers?|story|stories|peers?|rehears\w+|'
        r'diets?|examination sets?|other checkouts?|(?<!four\s)radiologists?|'
        r'(?:draw\w*|writ\w+|show\w*) (?:a |all |the |that )?figures?|'
        r'draw\w* (?:a |all |the )?(?:plots?|curves?))\b',
        re.IGNORECASE,
    )
    ours = re.compile(f'{retired.pattern}|\\b(?:iteration|stage)s?\\b', re.I)
    texts = [(page, prose(page.read_text())) for page in PAGES]
    for folder in ('configs', 'demo', 'mmcar/report/page/assets'):
        for page in (ROOT / folder).rglob('*.*'):
            if page.suffix in ('.html', '.ipynb', '.js', '.py', '.yaml'):
                text = re.sub(r'<[^>\n]*>', '', page.read_text())
                texts.append((page, text))
    texts += [
        (path, text)
        for path in [*SOURCES, *ROOT.glob('projects/**/*.py')]
        for text in messages(path)
    ]
    assert len(texts) > 1000, 'the test reads messages'
    for page, text in texts:
        here = ours if page in [*OURS, *SOURCES] else retired
        found = here.search(str(text))
        assert not found, f'{page}: {found[0]!r}, see docs/lookup/glossary.md'


def test_commands_have_the_options_that_pages_give_them(monkeypatch):
    def parse(self, args=None, namespace=None):
        known(self, args, namespace)
        raise StopIteration

    known = argparse.ArgumentParser.parse_args
    monkeypatch.setattr(argparse.ArgumentParser, 'parse_args', parse)
    line = re.compile(r'(?m)^(?:\| `)?(python tools/[^`\n#]+)')
    found = {c for page in OURS for c in line.findall(page.read_text())}
    assert len(found) > 40, 'the test finds commands'
    for command in sorted(found):
        _, path, *args = shlex.split(command)
        tool = load_script(path.removeprefix('tools/'))
        monkeypatch.setattr(sys, 'argv', [path, *args])
        with pytest.raises(StopIteration):
            tool.main()
            pytest.fail(command)


def test_python_of_pages_imports_what_there_is():
    """Also where a block cannot run, for want of a user's own files."""
    taken = set()
    for page in PAGES:
        for block in code_blocks(page):
            for node in ast.walk(ast.parse(block)):
                if 'mmcar' in (getattr(node, 'module', None) or ''):
                    module = importlib.import_module(node.module)
                    names = {name.name for name in node.names}
                    assert not names - {*dir(module)}, page
                    taken |= names
    assert 'StochasticInferencer' in taken, 'the test finds imports'


def test_the_model_of_the_config_keys():
    scope = {}
    exec(*code_blocks('docs/lookup/config_keys.md'), scope)
    model = MODELS.build(scope['model'])
    assert {*model.networks()} == {'calibration', 'generator', 'discriminator'}


def test_the_first_tutorial(tmp_path, monkeypatch, capsys):
    """Its Python in one go; what it says of the answers is true."""
    monkeypatch.chdir(tmp_path)
    for folder in ('demo', 'configs'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    scope = {}
    for block in code_blocks('docs/learn/first_image.md'):
        exec(block, scope)
    areas = sorted(scope['areas'])
    assert areas[9] - areas[8] > 100, 'little between small and large'
    shares = [h.probability for h in scope['result'].hypotheses]
    assert shares == [9 / 16, 7 / 16]
    agree = (scope['agree'] == 1).sum((1, 2))
    assert agree.min() > areas[8], 'a pixel decides about the halo'
    found = re.findall(r'GED .* (\S+)', capsys.readouterr().out)
    assert float(found[0]) < float(found[1]) / 2
    assert (tmp_path / 'out/hypotheses').is_dir()


SHORT = {'300': '30', '=200': '=3', '=60': '=2', '_260': '_5', 's 3 ': 's 1 '}


@pytest.mark.slow
@pytest.mark.parametrize('name', ['several_annotators', 'black_box'])
def test_tutorials_with_training(name, tmp_path):
    """All of their commands, one after the other, made short."""

    def short(text):
        for long, few in SHORT.items():
            text = text.replace(long, few)
        return text

    page = f'docs/learn/{name}.md'
    shutil.copytree(ROOT / 'demo', tmp_path / 'demo')
    for folder in ('tools', 'configs'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / 'work_dirs').mkdir()
    stock = tmp_path / 'demo/stock_unet.py'
    stock.write_text(short(stock.read_text()))
    files = ('on_my_model.py', 'without_g.py')
    for file, code in zip(files, code_blocks(page), strict=False):
        (tmp_path / 'work_dirs' / file).write_text(short(code))
    for line in ''.join(code_blocks(page, 'bash')).splitlines():
        _, *command = shlex.split(short(line), comments=True)
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, f'{line}: {result.stderr}'
