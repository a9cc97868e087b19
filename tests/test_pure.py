"""What needs no MMSegmentation works where it is not installed."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import mmcar.evaluation.functional
import mmcar.sampling
import mmcar.structures

HIDE = """
import sys
HIDDEN = ('mmseg', 'mmengine', 'mmcv')

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in HIDDEN:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)

sys.meta_path.insert(0, Hiding())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = (
    lambda name, package=None: None
    if name.split('.')[0] in HIDDEN
    else found(name, package)
)
"""
WORK = """
import mmcar, torch
assert not [name for name in sys.modules if name.split('.')[0] in HIDDEN]
assert 'scipy.optimize' not in sys.modules  # half a second
log_probs = torch.randn(1, 3, 16, 16).log_softmax(1)
(samples,) = mmcar.sample_labels(log_probs, 16)
(labels,) = mmcar.sample_labels(log_probs, 4, seed=1)
assert 0 <= mmcar.ged(samples, labels, num_classes=3) < 1
assert 0 < mmcar.hm_iou(samples, labels, num_classes=3) <= 1
assert 0 <= mmcar.calibration(log_probs[0].exp(), labels).ece < 1
assert mmcar.hypotheses(samples, samples[0], num_classes=3)
assert mmcar.bounds([labels], num_classes=3, num_samples=2)
flips = mmcar.structures.ClassFlips.parse([(0, 2, 0.5)])
assert len(flips) == 1
try:
    import mmcar.models
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_pure_parts_without_mmsegmentation():
    result = subprocess.run(
        [sys.executable, '-c', HIDE + WORK], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == 'mmseg'


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
