"""Any config and checkpoint, ours or MMSeg's, as a model that samples."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config, ConfigDict
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS, MODELS

from ..compat.console import quiet
from ..models.black_boxes import FrozenBlackBox, check_black_boxes
from ..models.segmentors import StochasticSegmentor
from ..models.weights import load_checkpoint
from ..utils.errors import UserError

META_KEYS = ('classes', 'palette', 'class_flips')
# Pixels as they are: the black box normalises them as it did.
PIXELS = dict(type='SegDataPreProcessor', size_divisor=1, seg_pad_val=255)
TRAINING_KEYS = (
    'train_dataloader',
    'train_cfg',
    'optim_wrapper',
    'param_scheduler',
)

Size = tuple[int, int]


def samples_itself(cfg: Config) -> bool:
    """Whether the model of a config is a stochastic one."""
    if 'model' not in cfg:
        raise UserError(f'{cfg.filename} has no key `model`.')
    kind = MODELS.get(cfg.model.type)
    if kind is None:
        raise UserError(
            f'model.type={cfg.model.type!r} is not registered: add its '
            'package to custom_imports of the config.'
        )
    return isinstance(kind, type) and issubclass(kind, StochasticSegmentor)


def sampling_model(
    cfg: Config,
    checkpoint: str | None = None,
    sampler: Mapping | None = None,
    data_preprocessor: Mapping = PIXELS,
) -> ConfigDict:
    """The config of a model that draws from a stock model's probabilities.

    Args:
        cfg: Config of any segmentor with a ``decode_head``.
        checkpoint: Its weights, file or URL; None if they come later.
        sampler: Config of the generator; None is ``GumbelSampler``.
        data_preprocessor: Of the whole; the stock model still sees images
            as it did before.
    """
    segmentor = copy.deepcopy(cfg.model)
    if segmentor.get('data_preprocessor') is None:
        segmentor.data_preprocessor = cfg.get('data_preprocessor')
    heads = segmentor.get('decode_head')
    head = heads[-1] if isinstance(heads, list | tuple) else heads
    if not head or 'num_classes' not in head:
        raise UserError(
            f'{cfg.filename}: model.decode_head.num_classes is not set: write '
            'decode_head=dict(type=CARHead, num_classes=..., black_box=...).'
        )
    return ConfigDict(
        type='CARSegmentor',
        data_preprocessor=copy.deepcopy(data_preprocessor),
        decode_head=dict(
            type='CARHead',
            num_classes=max(2, head.num_classes),
            align_corners=head.get('align_corners', False),
            ignore_index=head.get('ignore_index', 255),
            black_box=dict(
                type='BlackBox', segmentor=segmentor, checkpoint=checkpoint
            ),
            generator=dict(sampler or dict(type='GumbelSampler')),
        ),
    )


def wrap_stock_config(cfg: Config, checkpoint: str | None) -> Config:
    """The config of a stock model, its model made the black box of a sampler.

    Args:
        cfg: Config of any segmentor with a ``decode_head``.
        checkpoint: Its weights, file or URL; None if a checkpoint of the
            whole brings them.

    Returns:
        A config with the same data, without training.
    """
    cfg = copy.deepcopy(cfg)
    own = cfg.model.get('data_preprocessor') or cfg.get('data_preprocessor')
    cfg.model = sampling_model(cfg, checkpoint, data_preprocessor=own)
    imports = list((cfg.get('custom_imports') or {}).get('imports', ()))
    cfg.custom_imports = dict(imports=[*imports, 'mmcar'])
    for key in TRAINING_KEYS:
        cfg[key] = None
    return cfg


def load_model(
    cfg: Config,
    checkpoint: str | Path | None = None,
    device: str | torch.device = 'cpu',
    sampler: Mapping | None = None,
    window: tuple[Size, Size] | None = None,
) -> StochasticSegmentor:
    """Build a model that samples and load its weights.

    A model of MMSeg's becomes the black box of one that draws from its
    probabilities, without training; it sees images as it did before.

    Args:
        cfg: The config, with the key ``model``.
        checkpoint: Path or URL; None for a model that has nothing trained.
        device: Where it runs.
        sampler: How to draw from a model that does not: config of a
            generator without weights, `GumbelSampler` by default.
        window: Height and width of windows and of their stride, in which
            the networks see large images; None leaves it to the config.

    Returns:
        The model in eval mode; its ``dataset_meta`` has ``classes`` and, if
        known, ``palette`` and ``class_flips``.
    """
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    stock = not samples_itself(cfg)
    if sampler is not None and not stock:
        raise UserError(
            f'sampler={dict(sampler)}: {cfg.model.type} has a sampler of its '
            'own, model.decode_head.generator of its config.'
        )
    model_cfg = copy.deepcopy(cfg.model)
    if stock:
        model_cfg = sampling_model(cfg, sampler=sampler)
    if window is not None:
        test_cfg = dict(mode='slide', crop_size=window[0], stride=window[1])
        model_cfg.test_cfg = {**(model_cfg.get('test_cfg') or {}), **test_cfg}
    with quiet():
        model = MODELS.build(model_cfg)
    head = getattr(model, 'decode_head', None)  # other methods have none
    black_box: Any = getattr(head, 'black_box', None)
    if window is not None and isinstance(black_box, FrozenBlackBox):
        black_box.set_window(window)
    meta = {}
    if checkpoint is not None:
        target = black_box.segmentor if stock else model
        saved = load_checkpoint(target, str(checkpoint)).get('meta') or {}
        old = {key.lower(): saved.get(key) for key in ('CLASSES', 'PALETTE')}
        meta = saved.get('dataset_meta') or old
    elif stock or any(p.requires_grad for p in model.parameters()):
        raise UserError(
            'This model has weights: name a checkpoint, the path or URL of a '
            '.pth file that was trained with this config.'
        )
    model.dataset_meta = _dataset_meta(cfg, meta, model.num_classes)
    check_black_boxes(model, model.dataset_meta)
    if torch.device(device).type != 'cuda':
        model = revert_sync_batchnorm(model)
    return model.to(device).eval()


def tested_dataset(cfg: Config) -> Mapping:
    """The data set config that testing uses, out of its wrappers; or {}."""
    dataset = (cfg.get('test_dataloader') or {}).get('dataset') or {}
    while 'pipeline' not in dataset:
        inner = dataset.get('dataset') or dataset.get('datasets')
        if not inner:
            break
        dataset = inner[0] if isinstance(inner, Sequence) else inner
    return dataset


def _dataset_meta(cfg: Config, saved: Mapping, num_classes: int) -> dict:
    """Names, colours and flips: the checkpoint's, else the config's."""
    dataset = tested_dataset(cfg)
    kind = DATASETS.get(dataset['type']) if 'type' in dataset else None
    known = {
        **getattr(kind, 'METAINFO', {}),
        **(dataset.get('metainfo') or {}),
        **{key: value for key, value in saved.items() if value is not None},
    }
    meta = {key: known[key] for key in META_KEYS if known.get(key)}
    if len(meta.get('classes', ())) != num_classes:
        meta = dict(classes=tuple(f'class {k}' for k in range(num_classes)))
    return meta
