# Real outlines of LIDC readers with simulated CT crops; made by
# tools/dataset_converters/lidc_shapes.py data/lidc_shapes
dataset_type = 'LIDCDataset'
data_root = 'data/lidc_shapes'
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(
            img_path='images/train', seg_map_path='annotations/train'
        ),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(
            img_path='images/val', seg_map_path='annotations/val'
        ),
        test_mode=True,
        pipeline=test_pipeline,
    ),
)
test_dataloader = dict(
    batch_size=32,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(
            img_path='images/test', seg_map_path='annotations/test'
        ),
        test_mode=True,
        pipeline=test_pipeline,
    ),
)
val_evaluator = [
    dict(type='GEDMetric', num_samples=(16,), classes=(1,), absent='one'),
    dict(type='HMIoUMetric', num_samples=(16,), classes=(1,), absent='one'),
    dict(type='CalibrationMetric'),
]
test_evaluator = val_evaluator
