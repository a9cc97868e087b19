"""Right configs that a check might refuse: ``(base, changes)``.

What a config of `bases` is changed into still is as somebody may want it.
"""

from mmseg.datasets import Albu

from tests.test_config_check import own_parts
from tests.test_config_check.changes import DROP

HEAD = 'model.decode_head'
STEPS = 'train_dataloader.dataset.pipeline'
LOAD = [dict(type='LoadImageFromFile'), dict(type='LoadAnnotations')]
PACK = [dict(type='PackSegInputs')]
ALBU = dict(
    transforms=[dict(type='ShiftScaleRotate', rotate_limit=(-45, 45), p=0.5)]
)
SCORED = {
    'default_hooks.checkpoint.save_best': 'mIoU',
    'default_hooks.checkpoint.rule': 'greater',
}
LOSS = dict(type='MarginLoss', weight=-0.5, gamma=-1, margin=-0.2)
CROSS_ENTROPY = dict(type='CrossEntropyLoss', use_sigmoid=False)
SIGMOID = dict(type='CrossEntropyLoss', use_sigmoid=True)
LINEAR = dict(type='LinearLR', start_factor=0.1, begin=0, end=2)
POLY = dict(type='PolyLR', begin=2, end=8, by_epoch=False)
FCN = dict(
    type='FCNHead',
    in_channels=8,
    in_index=1,
    channels=4,
    num_convs=1,
    concat_input=False,
    num_classes=2,
    loss_decode=dict(CROSS_ENTROPY, loss_weight=0.4),
)


def steps(*middle) -> dict:
    return {STEPS: [*LOAD, *middle, *PACK]}


#: Built and tried, on the small training of our own.
OURS = [
    {},
    {
        f'{HEAD}.generator': dict(type='GumbelSampler', temperature=0.0),
        'train_cfg.phases': [dict(iters=4, train=['calibration'])],
        'optim_wrapper.generator': DROP,
        'optim_wrapper.discriminator': DROP,
        'model.discriminator': DROP,
        'custom_hooks': [],
    },
    {'custom_hooks': [dict(type='QuietHook', interval=0, levels=[-1])]},
    {'train_dataloader.dataset.label_map': {7: 1}},
    {'log_level': 'WARN'},
    {'custom_hooks[0].weight': 0.0},
    {'train_cfg.val_interval': 3, 'randomness.deterministic': True},
    {'optim_wrapper.generator.clip_grad': dict(max_norm=1, norm_type='inf')},
    {'train_cfg.phases[0].iters': 0},
]
#: Built and tried, on a training of MMSeg's own.
STOCK = [
    {},
    {f'{HEAD}.loss_decode': [CROSS_ENTROPY, LOSS]},
    {f'{HEAD}.loss_decode': dict(LOSS, parts=[dict(type='of mine', x=-1)])},
    steps(dict(type='Hounsfield', clip=(-1000, 400), hu=-1000)),
    steps(dict(type='Hounsfield', seg_pad_val=0)),
    {
        'model.backbone': dict(
            type='LayeredBackbone',
            out_layers=[-4, -1],
            freeze_at=-1,
            log_sigma=-2,
        )
    },
    {
        'val_evaluator.ignore_index': 0,
        'model.data_preprocessor.seg_pad_val': 0,
    },
    {
        'val_evaluator.iou_metrics': 'mIoU',
        'test_evaluator.iou_metrics': 'mIoU',
    },
    {
        f'{HEAD}.num_classes': 1,
        f'{HEAD}.out_channels': 1,
        f'{HEAD}.threshold': 0.3,
        f'{HEAD}.loss_decode': SIGMOID,
    },
    {f'{HEAD}.out_channels': 1, f'{HEAD}.loss_decode': SIGMOID},
    {
        'default_hooks.best_checkpoint': dict(
            type='CheckpointHook',
            **{'by_epoch': False, 'interval': 2, 'save_best': 'mIoU'},
        )
    },
    {'default_hooks.text_logger': dict(type='LoggerHook', interval=5)},
    {'train_dataloader.dataset.metainfo.class_weights': [0.1, 0.9]},
    {'train_dataloader.dataset.data_prefix.depth_map_path': 'depth'},
    {
        'optim_wrapper.constructor': 'DecayingConstructor',
        'optim_wrapper.paramwise_cfg': dict(decay_rate=0.9, num_stages=12),
    },
    {
        'optim_wrapper.paramwise_cfg': dict(
            custom_keys=dict(decode_head=dict(lr_mult=10.0, momentum=0.5)),
            norm_decay_mult=0.0,
        )
    },
    {'param_schedulers': [POLY], 'param_scheduler': [POLY]},
    {'param_scheduler': [dict(LINEAR, by_epoch=False), POLY]},
    {'custom_hooks': [dict(type='EMAHook', momentum=0.001)]},
    {
        'custom_hooks': [
            dict(type='EarlyStoppingHook', monitor='mIoU', rule='greater')
        ],
        **SCORED,
    },
    {
        'visualizer': dict(
            type='SegLocalVisualizer',
            name='tensorboard',
            vis_backends=[
                dict(type='LocalVisBackend'),
                dict(type='TensorboardVisBackend'),
            ],
        )
    },
    {
        'visualizer': dict(
            type='SegLocalVisualizer',
            name='wandb',
            vis_backends=[
                dict(
                    type='WandbVisBackend',
                    init_kwargs=dict(project='p', tags=['a']),
                )
            ],
        )
    },
    {
        f'{HEAD}.sampler': dict(
            type='OHEMPixelSampler', thresh=0.7, min_kept=10
        )
    },
    {'model.auxiliary_head': FCN},
    {'model.auxiliary_head': [FCN, dict(FCN, in_channels=16, in_index=0)]},
    {
        'train_dataloader.dataset': lambda data: dict(
            type='RepeatDataset', times=3, dataset=data
        )
    },
    {
        'train_dataloader.dataset': lambda data: dict(
            type='ConcatDataset',
            datasets=[
                data,
                dict(
                    data,
                    data_prefix=dict(
                        img_path='img/test', seg_map_path='ann/test'
                    ),
                ),
            ],
        )
    },
    {
        'train_cfg': dict(by_epoch=True, max_epochs=2),
        'log_processor': DROP,
        'param_scheduler': [dict(type='PolyLR', end=2, by_epoch=True)],
        'train_dataloader.sampler.type': 'DefaultSampler',
    },
    {'optim_wrapper.clip_grad': dict(max_norm=0.01, norm_type=2)},
    {'optim_wrapper.accumulative_counts': 4},
    {
        'model.test_cfg': dict(
            mode='slide', crop_size=[32, 32], stride=[16, 16]
        )
    },
    {'seed': 7, 'randomness': dict(seed=7)},
    {'my_own_variable': dict(type='anything', at_all=-1)},
]
#: Checked, not built: packages that are not here, machines that are not here.
UNBUILT = [
    steps(dict(type='Albu', **ALBU)),
    steps(dict(type=Albu, **ALBU)),
    steps(dict(type=own_parts.Hounsfield, clip=(-1000, 400))),
    {'train_dataloader.num_workers': 192},
    {'model.backbone': dict(type='mmpretrain.ConvNeXt', arch='tiny')},
    {'model.backbone': dict(type='ConvNeXt', _scope_='mmpretrain', a=1)},
    {
        'optim_wrapper': dict(
            type='AmpOptimWrapper',
            loss_scale='dynamic',
            optimizer=dict(type='AdamW', lr=6e-5),
        )
    },
    {
        'launcher': 'slurm',
        'env_cfg': dict(dist_cfg=dict(backend='nccl', timeout=3600)),
    },
]
