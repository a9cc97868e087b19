# A stock model for the notebook: MMSegmentation's own U-Net, made thin, and
# its own data set, which knows one label per image: the first
# annotator's. Validation and test know all annotators.
_base_ = [
    'mmseg::_base_/models/fcn_unet_s5-d16.py',
    'mmseg::_base_/default_runtime.py',
    '../configs/_base_/datasets/my_data.py',
]
custom_imports = dict(imports=['mmcar'])  # for validation and test
norm = dict(type='BN', requires_grad=True)
model = dict(
    data_preprocessor=dict(size=(96, 96)),
    backbone=dict(base_channels=8, norm_cfg=norm, init_cfg=[]),
    decode_head=dict(in_channels=8, channels=8, norm_cfg=norm, init_cfg=None),
    auxiliary_head=None,
    test_cfg=dict(_delete_=True, mode='whole'),
)
nodules = dict(
    data_root='work_dirs/notebook/data',
    metainfo=dict(
        classes=('background', 'nodule'), palette=[[0, 0, 0], [255, 80, 60]]
    ),
)
train_dataloader = dict(
    dataset=dict(
        _delete_=True,
        type='BaseSegDataset',
        **nodules,
        data_prefix=dict(
            img_path='images/train', seg_map_path='annotations/train'
        ),
        img_suffix='.png',
        seg_map_suffix='/r0.png',
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='LoadAnnotations'),
            dict(type='RandomFlip', prob=0.5),
            dict(type='PackSegInputs'),
        ],
    ),
)
val_dataloader = dict(dataset=nodules)
test_dataloader = dict(dataset=nodules)
val_evaluator = [dict(type='CalibrationMetric')]
test_evaluator = val_evaluator
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='Adam', lr=2e-3))
param_scheduler = [dict(type='CosineAnnealingLR', by_epoch=False, T_max=300)]
train_cfg = dict(type='IterBasedTrainLoop', max_iters=300, val_interval=1000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
default_hooks = dict(
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=300)
)
