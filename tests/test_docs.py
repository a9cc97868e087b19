"""Code in the documentation runs as it stands there."""

import re

import torch
from mmseg.registry import MODELS

from tests.test_tools.project import ROOT
from tests.toys import toy_batch, toy_model, toy_optims


def code_blocks(path: str) -> list[str]:
    text = (ROOT / path).read_text()
    return re.findall(r'```python\n(.*?)```', text, flags=re.DOTALL)


def test_a_loss_of_ones_own():
    source, config = code_blocks('docs/extend.md')[1:3]
    exec(source, {'__name__': 'my_project'})
    try:
        scope = {}
        exec(config, scope)
        model = toy_model(**scope['model'])
        logs = model.train_step(toy_batch(), toy_optims(model))
        assert torch.isfinite(logs['loss_crisp'])
    finally:
        MODELS.module_dict.pop('SampleEntropy')


def test_links_of_the_docs():
    pages = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
    for page in pages:
        for link in re.findall(r'\]\(([^)#]+)\)', page.read_text()):
            if '://' not in link:
                assert (page.parent / link).exists(), f'{page.name}: {link}'


def test_paths_that_the_docs_name():
    named = re.compile(r'(?:tools|configs)/[\w./-]+\.(?:py|sh)')
    pages = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
    for page in pages:
        for path in set(named.findall(page.read_text())):
            assert (ROOT / path).exists(), f'{page.name} names {path}'
