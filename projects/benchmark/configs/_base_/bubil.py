# BU-BIL at 32x32, with every symmetry of the plane as augmentation.
_base_ = '../../../../configs/_base_/datasets/bubil.py'
resize = dict(type='ResizeOriginal', scale=(32, 32))
train_pipeline = [
    *_base_.load,
    resize,
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='RandomFlip', prob=0.5, direction='vertical'),
    dict(type='RandomRotate', prob=0.5, degree=(90, 90)),
    _base_.pack,
]
test_pipeline = [*_base_.load_all, resize, _base_.pack]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
val_dataloader = None
test_dataloader = dict(dataset=dict(pipeline=test_pipeline))
