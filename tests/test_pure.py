"""What needs no MMSegmentation works where it is not installed."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mmcar.evaluation.functional
import mmcar.sampling
import mmcar.structures

HIDE = """
import sys
HIDDEN = ('mmseg', 'mmengine', 'mmcv')
sys.modules.update(dict.fromkeys(HIDDEN))
"""
WORK = """
assert not {*sys.modules} & {'scipy.optimize', 'scipy.cluster', 'cv2'}
(own,), (maps,) = samples, labels
assert all(0 <= mmcar.ged(samples, labels, num_classes=3))
assert 0 < mmcar.hm_iou(own, maps, num_classes=3) <= 1
assert 0 <= mmcar.calibration(logits[0].softmax(0), maps).ece < 1
assert mmcar.hypotheses(own, own[0], num_classes=3)
assert mmcar.bounds(labels, num_classes=3, num_samples=2)
flips = mmcar.structures.ClassFlips.parse([(0, 2, 0.5)])
assert len(flips) == 1
sys.modules['torchmetrics'] = None
try:
    import mmcar.evaluation.torchmetrics
except ValueError as error:
    assert 'mmcar[torchmetrics]' in str(error)
try:
    import mmcar.models
except ModuleNotFoundError as error:
    print(error.name)
"""


TORCHVISION = """
from types import ModuleType, SimpleNamespace
from PIL import Image
torchvision = sys.modules['torchvision'] = ModuleType('torchvision')
def net(weights):
    import torch
    return torch.nn.Conv2d(3, 21, 3, padding=1)
torchvision.models = SimpleNamespace(
    segmentation=SimpleNamespace(lraspp_mobilenet_v3_large=net))
Image.new('RGB', (40, 30), 'green').save('photo.jpg')
"""
ROOT = Path(__file__).parents[1]


def run_without_mmseg(start, prepare, then, cwd):
    (lines,) = re.findall(
        rf'```python\n({start}.*?)```', (ROOT / 'README.md').read_text(), re.S
    )
    code = HIDE + prepare + lines + then
    result = subprocess.run(
        [sys.executable, '-c', code],
        **dict(capture_output=True, text=True, cwd=cwd),
        env=os.environ | dict(PYTHONPATH=str(ROOT)),
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_lines_of_the_readme_without_mmsegmentation(tmp_path):
    args = ('import mmcar, torchvision', TORCHVISION, '')
    assert '%' in run_without_mmseg(*args, tmp_path)
    assert len([*tmp_path.rglob('out/samples/photo*/*.png')]) == 16
    args = ('import mmcar\nimport torch\n\nlog', '', WORK)
    out = run_without_mmseg(*args, tmp_path)
    assert out.split()[-1] == 'mmseg.registry'


PAGE = (ROOT / 'docs/do/any_model.md').read_text()
OURS, *LIBRARIES = re.split(
    r'(?m)^## (?=torchvision|seg|Hugging|MONAI|ONNX)', PAGE
)


def run_blocks(text, scope):
    for code in re.findall(r'```python\n(.*?)```', text, re.S):
        exec(code, scope)
    return scope


@pytest.mark.slow
@pytest.mark.parametrize('section', LIBRARIES, ids=lambda x: x.split()[0])
def test_models_of_libraries_as_the_page_has_them(
    section, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    library = re.search(r'(?:import|from) ([a-z_]+)', section)[1]
    try:
        importlib.import_module(library.replace('onnxruntime', 'onnx'))
        importlib.import_module(library)
    except Exception as error:  # torchvision of another torch has its own
        pytest.skip(f'{library} cannot be loaded: {error}')
    scope = run_blocks(section, run_blocks(OURS, {}))
    assert capsys.readouterr().out.splitlines()[-1].endswith('4, 45, 67])')
    images, net = scope['images'].float(), scope['net']
    assert (
        scope['model'](images[:, : scope['model'].channels]).isfinite().all()
    )
    assert not net.training


def test_the_page_runs():
    scope = run_blocks(OURS, {})
    assert scope['after'].nll < scope['before'].nll + 1e-6


def pure_modules():
    for package in (
        mmcar.sampling,
        mmcar.structures,
        mmcar.evaluation.functional,
    ):
        for module in pkgutil.walk_packages(
            package.__path__, f'{package.__name__}.'
        ):
            yield module.name
    yield 'mmcar.evaluation.torchmetrics'
    yield 'mmcar.wrapped_model'
    yield 'mmcar.inference.wrapped_sampler'


@pytest.mark.parametrize('name', [*pure_modules()])
def test_examples(name):
    if name.endswith('torchmetrics'):
        pytest.importorskip('torchmetrics')
    module = importlib.import_module(name)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert not doctest.testmod(module, optionflags=options).failed
