"""What configs promise beyond building, which tests/ checks for all."""

from pathlib import Path

import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from tests.toys import toy_batch

CONFIGS = Path(__file__).parents[1] / 'configs' / 'bubil'


def test_recipe_on_bubil_starts_at_its_training_free_start(tmp_path):
    def build(name: str) -> torch.nn.Module:
        cfg = Config.fromfile(CONFIGS / f'{name}.py').model
        head = cfg.decode_head
        for part in (head.calibration, head.generator.get('net', {})):
            if part.get('init_cfg'):
                part.init_cfg.checkpoint = str(tmp_path / 'f.pth')
        cfg.noise.type = 'NormalNoise'
        cfg.test_cfg.num_samples = 4
        model = MODELS.build(cfg)
        model.init_weights()
        return model.eval()

    torch.manual_seed(0)
    source = build('calibration')
    torch.save(dict(state_dict=source.state_dict()), tmp_path / 'f.pth')
    start, recipe = build('start'), build('recipe')
    start.load_state_dict(source.state_dict(), strict=False)
    expected, samples = (
        torch.stack([s.pred_samples.data for s in model.test_step(batch)])
        for model, batch in (
            (start, toy_batch(size=(32, 32))),
            (recipe, toy_batch(size=(32, 32))),
        )
    )
    assert torch.equal(samples, expected)
    assert (samples[:, 0] != samples[:, 1]).any()
