"""An image of a stock data set has one noise, whichever tool draws it."""

import numpy as np
import torch
from mmengine.dataset import pseudo_collate
from mmseg.apis import inference_model
from mmseg.registry import DATASETS
from mmseg.utils import register_all_modules

from mmcar.apis import StochasticInferencer
from tests.test_inference.models import own_config, save_weights, write_images


def test_stock_images_under_every_tool(tmp_path, monkeypatch):
    """By a loader, as tools/test.py does, ours and MMSeg's inferencers."""
    register_all_modules(init_default_scope=True)
    paths = write_images(tmp_path / 'data/val/ulm', ((16, 16),) * 2)
    cfg = own_config()
    cfg.test_dataloader.dataset.update(
        data_root=str(tmp_path / 'data'),
        data_prefix=dict(img_path='val'),
        img_suffix='.png',
    )
    cfg.test_pipeline = cfg.test_dataloader.dataset.pipeline
    cfg.model.test_cfg = dict(num_samples=3)
    checkpoint = save_weights(cfg, tmp_path / 'own.pth')
    ours = StochasticInferencer(cfg, checkpoint, device='cpu')
    model = ours.model
    model.cfg = cfg  # as MMSeg's init_model leaves it
    drawn = {path: [] for path in paths}
    for folder in (tmp_path, tmp_path / 'data/val'):
        monkeypatch.chdir(folder)
        dataset = DATASETS.build(cfg.test_dataloader.dataset)
        for item in dataset:
            (sample,) = model.test_step(pseudo_collate([item]))
            drawn[sample.img_path].append(sample.pred_samples.data)
        for path in paths:
            sample = inference_model(model, path)
            drawn[path].append(sample.pred_samples.data)
            result = ours(path, num_samples=3)[0]
            drawn[path].append(torch.from_numpy(result.samples))
    for samples in drawn.values():
        assert len(samples) == 6
        for other in samples[1:]:
            np.testing.assert_array_equal(other, samples[0])
    assert (drawn[paths[0]][0] != drawn[paths[1]][0]).any()
