"""Parts of a user's own module, those of the page among them, by the tools."""

import json
import sys

from tests.test_docs import code_blocks
from tests.test_tools.project import ROOT, run, write_config

MORE_PARTS = """
import torch
from mmcar.models import BaseBlackBox, BaseNoise

@MODELS.register_module()
class OwnBlackBox(BaseBlackBox):
    def set_input_norm(self, norm):
        self.norm = norm

    def predict(self, image, data_samples):
        return image[:, :2].softmax(1)

@MODELS.register_module()
class OwnNoise(BaseNoise):
    def _draw(self, num_samples, size, entropy):
        generator = torch.Generator().manual_seed(entropy % 2**63)
        return torch.randn(num_samples, size, generator=generator)
"""
CONFIG = """
_base_ = './tiny.py'
custom_imports = dict(imports=['mmcar', 'own_parts'])
model = dict(
    decode_head=dict(
        black_box=dict(type='OwnBlackBox', num_classes=2),
        calibration=dict(_delete_=True, type='LinearCalibration'),
        generator=dict(_delete_=True, type='ShiftedLogits'),
    ),
    noise=dict(type='OwnNoise'),
    loss_samples=[
        dict(type='CalibrationLoss', divergence='hellinger'),
        dict(type='SampleEntropy'),
    ],
)
"""


def test_own_parts_train_and_are_scored(tmp_path, monkeypatch):
    write_config(tmp_path)
    (tmp_path / 'own.py').write_text(CONFIG)
    pages = ('docs/do/extend.md', 'docs/lookup/metrics.md')
    parts = [
        block
        for page in pages
        for block in code_blocks(page)
        if 'register_module' in block or 'DIVERGENCES' in block
    ]
    text = '\n'.join([*parts, MORE_PARTS])
    (tmp_path / 'own_parts.py').write_text(text)
    path = [str(tmp_path), str(ROOT), *sys.path]
    monkeypatch.setenv('PYTHONPATH', ':'.join(path))
    args = ('own.py', '--work-dir', 'work')
    done = run(ROOT / 'tools/train.py', *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'random-weights' not in done.stdout + done.stderr
    done = run(
        ROOT / 'tools/test.py',
        *('own.py', 'work/iter_8.pth', '--work-dir', 'work'),
        *('--eval', 'AreaError', 'GED', '--num-samples', 4),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / 'work/test_scores.json').read_text())
    assert scores['scores']['area_error'] >= 0
    assert 'GED_4' in scores['scores']
