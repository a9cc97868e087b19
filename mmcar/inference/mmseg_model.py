"""Stock MMSeg models as stochastic ones, without training."""

import copy
from collections.abc import Mapping

from mmengine.config import Config, ConfigDict
from mmseg.registry import MODELS

from ..models.segmentors import StochasticSegmentor
from ..utils.errors import UserError

# Pixels as they are: the black box normalises them as it did.
PIXELS = dict(type='SegDataPreProcessor', size_divisor=1, seg_pad_val=255)
TRAINING_KEYS = (
    'train_dataloader',
    'train_cfg',
    'optim_wrapper',
    'param_scheduler',
)


def samples_itself(cfg: Config) -> bool:
    """Whether the model of a config is a stochastic one."""
    if 'model' not in cfg:
        raise UserError(f'{cfg.filename} has no key `model`.')
    kind = MODELS.get(cfg.model.type)
    if kind is None:
        raise UserError(
            f'model.type={cfg.model.type!r} is not registered: add the '
            'package that has it to custom_imports of the config.'
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
            f'{cfg.filename}: model.decode_head.num_classes is not set, so '
            f'the classes of {segmentor.type} are not known: write a config '
            'with decode_head=dict(type=CARHead, num_classes=..., '
            'black_box=...).'
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
