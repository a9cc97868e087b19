# Cityscapes with class flips, at 256x512, in MMSeg's Cityscapes layout.
dataset_type = 'Cityscapes24Dataset'
data_root = 'data/cityscapes'
size = (512, 256)  # width, height
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='RandomClassFlips'),
    dict(
        type='RandomResize',
        scale=size,
        ratio_range=(0.5, 1.5),
        keep_ratio=True,
    ),
    dict(type='RandomCrop', crop_size=(128, 128)),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PadAll', size=(128, 128)),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='ResizeOriginal', scale=size),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(
    batch_size=16,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(
            img_path='leftImg8bit/train', seg_map_path='gtFine/train'
        ),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=4,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        data_prefix=dict(
            img_path='leftImg8bit/val', seg_map_path='gtFine/val'
        ),
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
