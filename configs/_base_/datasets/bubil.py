# BU-BIL cells: 7 to 10 annotators per image, 128x128 grey crops.
_base_ = './lidc_shapes.py'
dataset_type = 'MultiAnnotatorDataset'
data_root = 'data/bubil'
metainfo = dict(
    classes=('background', 'cell'), palette=[[0, 0, 0], [80, 200, 120]]
)
train_pipeline = [
    dict(type='LoadCheckedImage'),
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(
        type='RandomFlip',
        prob=[0.25, 0.25],
        direction=['horizontal', 'vertical'],
    ),
    dict(type='PackStochasticInputs'),
]
train_dataloader = dict(
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        metainfo=metainfo,
        pipeline=train_pipeline,
    )
)
val_dataloader = dict(
    dataset=dict(type=dataset_type, data_root=data_root, metainfo=metainfo)
)
# There is no third split: the validation images are the test images.
test_dataloader = dict(
    dataset=dict(
        type=dataset_type,
        data_root=data_root,
        metainfo=metainfo,
        data_prefix=dict(
            img_path='images/val', seg_map_path='annotations/val'
        ),
    )
)
