"""What configs promise beyond building, which tests/ checks for all."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmseg.registry import METRICS, MODELS

from mmcar.datasets import CamVidFlipsDataset
from tests.test_tools.scripts import load_script
from tests.toys import toy_batch

CONFIGS = Path(__file__).parents[1] / 'configs'


def test_recipe_on_bubil_starts_at_its_training_free_start(tmp_path):
    def build(name: str) -> torch.nn.Module:
        cfg = Config.fromfile(CONFIGS / f'bubil/{name}.py').model
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


@pytest.mark.parametrize(
    'name', ['bubil/gumbel', 'bubil/start', 'camvid/gumbel', 'camvid/recipe']
)
def test_floods_of_models_without_training_have_a_measure(name):
    cfg = Config.fromfile(CONFIGS / f'{name}.py')
    (metric,) = load_script('test.py').flood_measure(cfg)
    measure, tested = metric['train_dataset'], cfg.test_dataloader.dataset
    assert measure['type'] == tested.type
    assert measure['pipeline'] == tested.pipeline
    assert measure['data_prefix'] != tested.data_prefix
    # And nothing is drawn below it.
    generator = cfg.model.decode_head.generator
    floor = generator.get('floor') or generator.get('gumbel', {}).get('floor')
    assert floor == (None if name == 'bubil/gumbel' else 0.02)


def test_camvids_max_class_area_are_those_of_its_training_images(real_data):
    """As flood-rate reads them; twins may cover as much as their class."""
    cfg = Config.fromfile(CONFIGS / 'camvid/gumbel.py')
    (metric,) = load_script('test.py').flood_measure(cfg)
    metric['train_dataset']['data_root'] = str(real_data / 'camvid')
    evaluator = METRICS.build(dict(metric, num_samples=(16,)))
    evaluator.dataset_meta = CamVidFlipsDataset.METAINFO
    found = evaluator.largest.tolist()
    assert found == pytest.approx(cfg.model.test_cfg.max_class_area)
