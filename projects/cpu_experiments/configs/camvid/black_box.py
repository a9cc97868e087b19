# A small stock MMSeg model on CamVid's own classes, to serve as black box.
_base_ = [
    '../../../../configs/_base_/models/small.py',
    '../_base_/camvid_flips_48x64.py',
    '../../../../configs/_base_/default_runtime.py',
]
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
    backbone=_base_.small_unet,
    decode_head=dict(
        _base_.small_fcn,
        num_classes=11,
        loss_decode=dict(type='CrossEntropyLoss', avg_non_ignore=True),
    ),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'),
)
load_one = [_base_.load_image, dict(type='LoadMultiAnnotations')]
distort = dict(type='PhotoMetricDistortion')
pipeline = [*load_one, _base_.resize, _base_.mirror, distort, _base_.pack]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=pipeline))
adam = dict(type='AdamW', lr=2e-3, weight_decay=1e-2)
optim_wrapper = dict(type='OptimWrapper', optimizer=adam)
param_scheduler = [dict(type='PolyLR', power=0.9, by_epoch=False, end=1500)]
train_cfg = dict(
    type='IterBasedTrainLoop', max_iters=1500, val_begin=_base_.never
)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
val_evaluator = test_evaluator = [dict(type='IoUMetric')]
model_wrapper_cfg = None
