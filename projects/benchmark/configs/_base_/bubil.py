# BU-BIL at 32x32.
_base_ = ['../../../../configs/_base_/datasets/bubil.py', './square.py']
resize = dict(type='ResizeOriginal', scale=(32, 32))
train_pipeline = [*_base_.load, resize, *_base_.square, _base_.pack]
test_pipeline = [*_base_.load_all, resize, _base_.pack]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
val_dataloader = None
test_dataloader = dict(dataset=dict(pipeline=test_pipeline))
