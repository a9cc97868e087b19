"""The mean of several F."""

import pytest
import torch
from mmengine.config import Config
from mmengine.runner import save_checkpoint
from mmseg.registry import MODELS

from tests.test_tools.project import ROOT

from ..lidc.averaged import join
from ..lidc.rows import CONFIGS, ENSEMBLE, MEMBERS, F, LIDCRuns


@pytest.fixture
def configs(monkeypatch):
    monkeypatch.chdir(ROOT)
    return [Config.fromfile(CONFIGS / f'{n}.py') for n in (F, ENSEMBLE)]


def test_probabilities_are_averaged(tmp_path, configs):
    one, mean = (MODELS.build(cfg.model).eval() for cfg in configs)
    image, found, paths = torch.rand(2, 3, 128, 128), [], []
    for i in range(MEMBERS):
        torch.manual_seed(i)
        for weight in one.parameters():
            weight.data.normal_(std=0.1)
        paths.append(tmp_path / f'{i}.pth')
        save_checkpoint(dict(state_dict=one.state_dict()), str(paths[-1]))
        with torch.inference_mode():
            found.append(one.log_probs(one.encode(image)).exp())
    result = mean.load_state_dict(join(paths))
    assert not result.missing_keys and not result.unexpected_keys
    with torch.inference_mode():
        averaged = mean.log_probs(mean.encode(image)).exp()
    expected = torch.stack(found).mean(0)
    assert torch.allclose(averaged, expected, atol=1e-6)
    assert (expected - found[0]).abs().max() > 1e-4


def test_members_are_the_seeds_of_f(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    runs, asked = LIDCRuns(tmp_path), []
    member = tmp_path / 'f.pth'
    weights = {'decode_head.calibration.w': torch.ones(1)}
    save_checkpoint(dict(state_dict=weights), str(member))

    def train(self, group, name, seed):
        asked.append((name, seed))
        return member

    monkeypatch.setattr(LIDCRuns.__base__, 'train', train)
    path = runs.train('', ENSEMBLE, 0)
    assert asked == [(F, i) for i in range(MEMBERS)]
    assert len(torch.load(path)['state_dict']) == MEMBERS
