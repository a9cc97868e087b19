# The 180x180 crops of the Hierarchical Probabilistic U-Net, as they unpack.
_base_ = './lidc_shapes.py'
data_root = 'data/lidc_crops'
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='LesionCenteredCrop', crop_size=128),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='LesionCenteredCrop', crop_size=128),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='train/images', seg_map_path='train/gt'),
        pipeline=train_pipeline,
    )
)
val_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='val/images', seg_map_path='val/gt'),
        pipeline=test_pipeline,
    )
)
test_dataloader = dict(
    dataset=dict(
        data_root=data_root,
        data_prefix=dict(img_path='test/images', seg_map_path='test/gt'),
        pipeline=test_pipeline,
    )
)
