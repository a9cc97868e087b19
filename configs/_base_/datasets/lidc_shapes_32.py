# LIDC shapes at a size for CPU experiments: 32 mm around the lesion, 32x32.
_base_ = './lidc_shapes.py'
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='LesionCenteredCrop', crop_size=64),
    dict(type='ResizeOriginal', scale=(32, 32)),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='LesionCenteredCrop', crop_size=64),
    dict(type='ResizeOriginal', scale=(32, 32)),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(batch_size=16, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
# Every fourth test slice, for speed: 100 samples of each are scored.
test_dataloader = dict(
    dataset=dict(pipeline=test_pipeline, indices=list(range(0, 2380, 4)))
)
