"""Small models and images on disk, ours and stock ones."""

from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmseg.registry import MODELS
from PIL import Image

from tests.toys import toy_config, toy_parts

CLASSES = ('ground', 'square')
STOCK = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[100.0, 110.0, 120.0],
        std=[50.0, 60.0, 70.0],
        bgr_to_rgb=True,
    ),
    **toy_parts('SyncBN', num_classes=4, norm_cfg=dict(type='SyncBN')),
    auxiliary_head=None,
    test_cfg=dict(mode='whole'),
)


def pipeline(*steps, own=True):
    names = ('LoadCheckedImage', 'LoadMultiAnnotations')
    names += ('PackStochasticInputs',)
    if not own:
        names = ('LoadImageFromFile', 'LoadAnnotations', 'PackSegInputs')
    load, labels, pack = (dict(type=name) for name in names)
    return [load, *steps, labels, pack]


def config_of(model, steps, classes=None, **meta):
    metainfo = dict(meta, **({} if classes is None else {'classes': classes}))
    dataset = dict(type='BaseSegDataset', pipeline=steps, metainfo=metainfo)
    return Config(
        dict(
            default_scope='mmseg',
            model=model,
            test_dataloader=dict(batch_size=1, dataset=dataset),
        )
    )


def own_config(*steps, **model):
    """A CAR model that is as torn as can be: its weights are random."""
    head = toy_config()['decode_head']
    head['generator'] = dict(type='GumbelSampler', correlation_length=6.0)
    cfg = toy_config(**(dict(decode_head=head, discriminator=None) | model))
    return config_of(cfg, pipeline(*steps), CLASSES)


def stock_config(*steps):
    names = ('sky', 'road', 'car', 'tree')
    return config_of(dict(STOCK), pipeline(*steps, own=False), names)


def save_weights(cfg, path, seed=0):
    """Build a config's model with random weights and save them."""
    torch.manual_seed(seed)
    model = MODELS.build(cfg.model)
    model.init_weights()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    torch.save(dict(state_dict=model.state_dict(), meta={}), path)
    return str(path)


def write_images(folder: Path, sizes=((16, 16),) * 4, suffix='.png'):
    """Write random images; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    paths = []
    for i, size in enumerate(sizes):
        path = folder / f'{i}{suffix}'
        image = rng.integers(0, 256, (*size, 3), np.uint8)
        Image.fromarray(image).save(path)
        paths.append(str(path))
    return paths


def read_bgr(path):
    return np.array(Image.open(path))[..., ::-1].copy()
