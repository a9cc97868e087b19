import pytest
from mmengine.config import Config

from mmcar.apis.config_leftovers import check_leftovers
from mmcar.apis.config_parts import parts_of
from mmcar.utils.errors import UserError

MULTI = 'LoadMultiAnnotations'


def check(**cfg) -> None:
    check_leftovers(Config(cfg), list(parts_of(cfg)))


def loader(*pipeline: dict, sampler='DefaultSampler', **prefix: str) -> dict:
    return dict(
        sampler=dict(type=sampler),
        dataset=dict(
            type='MultiAnnotatorDataset',
            data_prefix=prefix,
            pipeline=list(pipeline),
        ),
    )


@pytest.mark.parametrize(
    'cfg',
    [
        dict(seed=3, randomness=dict(seed=3)),
        dict(seed=None),
        dict(
            runner=dict(type='IterBasedRunner', max_iters=8),
            train_cfg=dict(max_iters=8),
        ),
        dict(custom_hooks=[dict(type='A', x=1), dict(type='A', x=2)]),
        dict(val_evaluator=dict(type='GEDMetric')),
        dict(train_dataloader=loader(dict(type=MULTI))),
        dict(train_dataloader=loader(dict(type='RandomCrop', crop_size=8))),
        dict(train_dataloader=loader(sampler='InfiniteSampler')),
        dict(val_dataloader=loader(dict(type=MULTI, draw=False))),
        dict(val_dataloader=loader(dict(type='RandomFlip', prob=1.0))),
        dict(val_dataloader=loader(dict(type='RandomClassFlips'))),
        dict(val_dataloader=loader(dict(type='Resize', scale=(8, 8)))),
        dict(val_dataloader=loader(dict(type='Normalize', mean=0, std=1))),
        dict(val_dataloader=loader(img_path='val/x', seg_map_path='y')),
        dict(
            val_dataloader=loader(
                img_path='training/x', seg_map_path='y/train'
            )
        ),
        # A folder may be called after a split of another.
        dict(
            val_dataloader=loader(
                img_path='train/val', seg_map_path='labels/train'
            )
        ),
    ],
)
def test_what_is_meant_passes(cfg):
    check(**cfg)


@pytest.mark.parametrize(
    ('cfg', 'words'),
    [
        (dict(seed=3, randomness=dict(seed=0)), r'seed=3.*randomness\.seed'),
        (
            dict(runner=dict(max_iters=8), train_cfg=dict(max_iters=9)),
            'runner=.*train_cfg',
        ),
        (
            dict(param_scheduler=[dict(type='A')] * 2),
            r'param_scheduler\[1\].*param_scheduler\[0\]',
        ),
        (
            dict(test_dataloader=loader(dict(type=MULTI))),
            r'test_dataloader\.dataset\.pipeline\[0\]\.draw',
        ),
        (
            dict(test_dataloader=loader(dict(type='RandomFlip', prob=0.5))),
            r'pipeline\[0\] \(RandomFlip\)',
        ),
        (
            dict(test_dataloader=loader(sampler='InfiniteSampler')),
            r'test_dataloader\.sampler\.type',
        ),
        (
            dict(
                test_dataloader=loader(
                    img_path='images/test', seg_map_path='labels/validation'
                )
            ),
            r'images/test.*labels/validation',
        ),
        (
            dict(
                model=dict(data_preprocessor=dict(mean=[1.0], std=[1.0])),
                train_dataloader=loader(dict(type='Normalize')),
            ),
            r'pipeline\[0\].*data_preprocessor',
        ),
    ],
)
def test_leftovers_are_named(cfg, words):
    with pytest.raises(UserError, match=words):
        check(**cfg)
