# CamVid flips at 48x64 for CPU experiments.
_base_ = './camvid_flips.py'
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='ResizeOriginal', scale=(64, 48), keep_ratio=False),
    dict(type='RandomClassFlips'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='ResizeOriginal', scale=(64, 48), keep_ratio=False),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(batch_size=4, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = dict(dataset=dict(pipeline=test_pipeline))
