"""Stock MMSeg models as stochastic ones, without training."""

import copy

from mmengine.config import Config, ConfigDict
from mmseg.registry import MODELS

from ..models.segmentors.stochastic_segmentor import StochasticSegmentor
from ..utils.errors import UserError

TRAINING_KEYS = (
    'train_dataloader',
    'train_cfg',
    'optim_wrapper',
    'param_scheduler',
)


def is_stochastic(cfg: Config) -> bool:
    """Whether the model of a config samples by itself."""
    if 'model' not in cfg:
        raise UserError(f'{cfg.filename} has no key `model`.')
    kind = MODELS.get(cfg.model.type)
    return isinstance(kind, type) and issubclass(kind, StochasticSegmentor)


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
    model = cfg.model
    if model.get('data_preprocessor') is None:
        model.data_preprocessor = cfg.get('data_preprocessor')
    heads = model.get('decode_head')
    head = heads[-1] if isinstance(heads, list | tuple) else heads
    if head is None or 'num_classes' not in head:
        raise UserError(
            f'{cfg.filename}: model.decode_head.num_classes is not set, so '
            'the classes of this model are not known: write a config with '
            'decode_head=dict(type=CARHead, num_classes=..., black_box=...).'
        )
    cfg.model = ConfigDict(
        type='CARSegmentor',
        data_preprocessor=copy.deepcopy(model.data_preprocessor),
        decode_head=dict(
            type='CARHead',
            num_classes=max(2, head.num_classes),
            align_corners=head.get('align_corners', False),
            ignore_index=head.get('ignore_index', 255),
            black_box=dict(
                type='BlackBox', segmentor=model, checkpoint=checkpoint
            ),
            generator=dict(type='GumbelSampler'),
        ),
        discriminator=None,
    )
    imports = list((cfg.get('custom_imports') or {}).get('imports', ()))
    cfg.custom_imports = dict(imports=[*imports, 'mmcar'])
    for key in TRAINING_KEYS:
        cfg[key] = None
    return cfg
