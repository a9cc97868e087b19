import shutil

import numpy as np
import torch
from mmengine.config import Config
from mmseg.registry import MODELS
from PIL import Image

from mmcar.engine.data_roots import data_roots, tell_roots
from mmcar.inference.image_inputs import DatasetKeys
from tests.toys import toy_batch, toy_config


def stock(root):
    return dict(
        type='BaseSegDataset',
        data_root=str(root),
        data_prefix=dict(img_path='val'),
        pipeline=[dict(type='PackSegInputs')],
    )


def config(*roots):
    datasets = [stock(root) for root in roots]
    own = dict(stock('/own'), type='MultiAnnotatorDataset')
    joined = dict(type='ConcatDataset', datasets=datasets)
    return Config(
        dict(
            val_dataloader=dict(dataset=own),
            test_dataloader=dict(dataset=joined),
        )
    )


def test_only_sets_that_name_no_images():
    assert data_roots(config('/b', '/a')) == ('/a', '/b')
    assert data_roots(Config(dict())) == ()


def test_noise_does_not_depend_on_where_the_data_lie(tmp_path):
    image = tmp_path / 'first/val/0.png'
    image.parent.mkdir(parents=True)
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(image)
    shutil.copytree(tmp_path / 'first', tmp_path / 'second')
    drawn = []
    for folder in ('first', 'second'):
        torch.manual_seed(0)
        model = MODELS.build(toy_config())
        model.init_weights()
        cfg = config(tmp_path / folder)
        tell_roots(model, cfg)
        batch = toy_batch(batch_size=1)
        path = str(tmp_path / folder / 'val/0.png')
        batch['data_samples'][0].set_metainfo(dict(img_path=path))
        drawn.append(model.test_step(batch)[0].pred_samples.data)
        keys = DatasetKeys(stock(tmp_path / folder), data_roots(cfg))
        assert keys(path) == 'val/0.png'
    assert torch.equal(*drawn)
    assert len(drawn[0].unique(dim=0)) > 1
