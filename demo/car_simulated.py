# The model of `make demo`: the quickstart's recipe on simulated nodules, made
# by tools/dataset_converters/simulated_nodules.py data/simulated; thin enough
# for 2 MB. How it was trained and published: demo/README.md.
_base_ = [
    '../configs/_base_/models/car_recipe_small.py',
    '../configs/_base_/datasets/my_data.py',
    '../configs/_base_/schedules/recipe.py',
    '../configs/_base_/default_runtime.py',
]
nodules = dict(
    data_root='data/simulated',
    metainfo=dict(
        classes=('background', 'nodule'), palette=[[0, 0, 0], [255, 80, 60]]
    ),
)
# Whole images: they are small, and all of one size.
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(dataset=dict(nodules, pipeline=train_pipeline))
val_dataloader = dict(batch_size=32, dataset=nodules)
# Three of the test images, with their annotators, lie here.
test_dataloader = dict(dataset=dict(nodules, data_root='{{ fileDirname }}'))
model = dict(
    decode_head=dict(
        calibration=dict(
            backbone=dict(base_channels=8),
            decode_head=dict(in_channels=8, channels=8),
        ),
        generator=dict(base_channels=8),
    ),
    train_cfg=dict(soft_labels=True, num_samples=4),
)
param_scheduler = dict(calibration=dict(end=1500))  # most of the way
train_cfg = dict(
    phases=[
        dict(iters=1000, train=['calibration']),
        dict(iters=60, train=['generator', 'discriminator']),
    ],
    val_interval=_base_.never,
)
default_hooks = dict(checkpoint=dict(interval=500))
