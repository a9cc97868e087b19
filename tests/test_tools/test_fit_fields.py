"""The line that the tool prints is a generator."""

import re

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmseg.registry import MODELS
from PIL import Image

from mmcar.models import GumbelSampler

from .project import loader, write_data
from .scripts import load_script

SIZE = 32


def draw_annotations(folder):
    """Annotators who draw by fields of 4 pixels with a common part."""
    sampler = GumbelSampler(2, correlation_length=4.0, common=0.5)
    log_probs = torch.full((1, 2, SIZE, SIZE), 0.5).log()
    state = sampler.encode(torch.zeros(1, 3, SIZE, SIZE), log_probs)
    torch.manual_seed(0)
    for i in range(12):
        z = torch.randn(6, 1, sampler.noise_size)
        labels = sampler.sample_labels(state, z)[:, 0].numpy()
        for reader, mask in enumerate(labels.astype(np.uint8)):
            path = folder / 'annotations' / 'train' / str(i)
            Image.fromarray(mask).save(path / f'a{reader}.png')


def test_the_line_is_a_generator_that_fits(tmp_path, capsys):
    write_data(tmp_path, images=12, size=SIZE, readers=6)
    draw_annotations(tmp_path)
    tool = load_script('analysis_tools/fit_fields.py')
    cfg = dict(
        model=dict(decode_head=dict(num_classes=2)),
        train_dataloader=loader(tmp_path, 'train'),
        test_dataloader=loader(tmp_path, 'val'),
    )
    Config(cfg).dump(tmp_path / 'config.py')
    tool.main([str(tmp_path / 'config.py')])
    line = capsys.readouterr().out.splitlines()[-1]
    found = eval(re.fullmatch(r'generator=(dict\(.*\))', line)[1])
    assert found['correlation_length'] == pytest.approx(4.0, rel=0.3)
    assert found['common'] == pytest.approx(0.5, abs=0.2)
    assert MODELS.build(dict(found, num_classes=2)).gumbel.varies
