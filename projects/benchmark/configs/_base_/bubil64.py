# BU-BIL at 64x64.
_base_ = './bubil.py'
resize = dict(type='ResizeOriginal', scale=(64, 64))
train_pipeline = [*_base_.load, resize, *_base_.square, _base_.pack]
test_pipeline = [*_base_.load_all, resize, _base_.pack]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
test_dataloader = dict(dataset=dict(pipeline=test_pipeline))
