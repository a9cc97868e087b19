# A small stock MMSeg model on CamVid's own classes, to serve as black box.
_base_ = [
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/default_runtime.py',
]
norm_cfg = dict(type='BN')
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
        size_divisor=16,
    ),
    backbone=dict(type='UNet', base_channels=16, norm_cfg=norm_cfg),
    decode_head=dict(
        type='FCNHead',
        in_channels=16,
        in_index=4,
        channels=16,
        num_convs=1,
        concat_input=False,
        num_classes=11,
        norm_cfg=norm_cfg,
        loss_decode=dict(type='CrossEntropyLoss', avg_non_ignore=True),
    ),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'),
)
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations'),
    dict(type='ResizeOriginal', scale=(64, 48), keep_ratio=False),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PhotoMetricDistortion'),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=2e-3, weight_decay=1e-2),
)
param_scheduler = [
    dict(type='PolyLR', power=0.9, by_epoch=False, begin=0, end=1500)
]
train_cfg = dict(type='IterBasedTrainLoop', max_iters=1500, val_begin=100000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
val_evaluator = [dict(type='IoUMetric', iou_metrics=['mIoU'])]
test_evaluator = val_evaluator
model_wrapper_cfg = None
