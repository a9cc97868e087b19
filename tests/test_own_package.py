"""Parts of a user's own package, each in one file, through the tools."""

import json
import sys

import pytest

from tests.test_tools.project import ROOT, run, write_config, write_data

GENERATOR = """
import torch
from mmseg.registry import MODELS
from torch import nn
from mmcar.models import BaseGenerator

@MODELS.register_module()
class OwnGenerator(BaseGenerator):
    def __init__(self, num_classes, noise_size=4):
        super().__init__(noise_size)
        self.num_classes = num_classes
        self.shift = nn.Linear(noise_size, num_classes)
        self.temperature = nn.Parameter(torch.ones(()))

    def encode(self, image, log_probs):
        return log_probs

    def decode(self, features, z):
        return self.temperature * (features + self.shift(z)[..., None, None])
"""
BLACK_BOX = """
import torch
from mmseg.registry import MODELS
from mmcar.models import BaseBlackBox

@MODELS.register_module()
class OwnBlackBox(BaseBlackBox):
    def __init__(self, num_classes):
        super().__init__(num_classes)
        self.net = torch.nn.Conv2d(3, num_classes, 1)
        weights = {key: w * 0 + 1 for key, w in self.net.state_dict().items()}
        self.net.load_state_dict(weights)

    def set_input_norm(self, norm):
        self.norm = norm

    def predict(self, image, data_samples):
        return self.net(image).softmax(1)
"""
NOISE = """
import torch
from mmseg.registry import MODELS
from mmcar.models import BaseNoise

@MODELS.register_module()
class OwnNoise(BaseNoise):
    def _draw(self, num_samples, size, entropy):
        generator = torch.Generator().manual_seed(entropy % 2**63)
        half = torch.randn(num_samples // 2 + 1, size, generator=generator)
        return torch.stack([half, -half], 1).flatten(0, 1)[:num_samples]
"""
DIVERGENCE = """
from mmcar.models.losses import DIVERGENCES

def hellinger(mean, target):
    return 0.5 * (mean.sqrt() - target.sqrt()).square().sum(1)

DIVERGENCES['hellinger'] = hellinger
"""
METRIC = """
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS

@METRICS.register_module()
class Readers(BaseMetric):
    def process(self, data_batch, data_samples):
        self.results += [len(s['gt_sem_segs']['data']) for s in data_samples]

    def compute_metrics(self, results):
        return {'readers': sum(results) / len(results)}
"""
PARTS = {
    'generator': GENERATOR,
    'black_box': BLACK_BOX,
    'noise': NOISE,
    'divergence': DIVERGENCE,
    'metric': METRIC,
}
CONFIG = """
_base_ = './tiny.py'
custom_imports = dict(imports=['mmcar', {imports}])
model = dict(
    decode_head=dict(
        black_box=dict(type='OwnBlackBox', num_classes=2),
        generator=dict(_delete_=True, type='OwnGenerator'),
    ),
    noise=dict(type='OwnNoise'),
    loss_pixels=dict(
        type='CrossEntropyLoss', class_weight=[1.0, 3.0]),
    loss_samples=dict(type='CalibrationLoss', divergence='hellinger'),
)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Files of its own beside a config, and images with three annotators."""
    write_config(tmp_path)
    write_data(tmp_path / 'data', readers=3)
    for name, text in PARTS.items():
        (tmp_path / f'own_{name}.py').write_text(text)
    imports = ', '.join(f"'own_{name}'" for name in PARTS)
    (tmp_path / 'own.py').write_text(CONFIG.format(imports=imports))
    path = [str(tmp_path), str(ROOT), *sys.path]
    monkeypatch.setenv('PYTHONPATH', ':'.join(path))
    return tmp_path


def test_own_parts_train_and_are_scored(project):
    done = run(
        ROOT / 'tools/train.py', 'own.py', '--work-dir', 'work', cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert 'random-weights' not in done.stdout + done.stderr
    done = run(
        ROOT / 'tools/test.py',
        *('own.py', 'work/iter_8.pth', '--work-dir', 'work'),
        *('--eval', 'Readers', 'GED', '--num-samples', 4),
        cwd=project,
    )
    assert done.returncode == 0, done.stderr
    scores = json.loads((project / 'work/test_scores.json').read_text())
    assert scores['scores']['readers'] == 3
    assert 'GED_4' in scores['scores']
