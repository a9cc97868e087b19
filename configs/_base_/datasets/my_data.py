# A template for data of your own: copy it, change the first lines. See
# docs/do/own_data.md.
data_root = 'data/my_data'
classes = ('background', 'object')
label_map = (
    None  # new ids of ids in the files; {255: 1} for masks of 0 and 255
)
crop_size = (256, 256)  # of training, height and width
intensity = []  # for more than 8 bits: [dict(type='NormalizePercentiles')]

dataset = dict(
    type='MultiAnnotatorDataset',
    data_root=data_root,
    metainfo=dict(classes=classes),
    label_map=label_map,
)
train_pipeline = [
    dict(type='LoadCheckedImage'),
    *intensity,
    dict(type='LoadMultiAnnotations', keep_all=True),
    dict(type='RandomCrop', crop_size=crop_size),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PadAll', size=crop_size, padding_mode='edge'),
    dict(type='PackStochasticInputs'),
]
test_pipeline = [
    dict(type='LoadCheckedImage'),
    *intensity,
    dict(type='LoadMultiAnnotations', draw=False),
    dict(type='PackStochasticInputs'),
]
test_dataset = dict(dataset, test_mode=True, pipeline=test_pipeline)
loader = dict(num_workers=2, persistent_workers=True)
train_dataloader = dict(
    loader,
    batch_size=8,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        dataset,
        data_prefix=dict(
            img_path='images/train', seg_map_path='annotations/train'
        ),
        pipeline=train_pipeline,
    ),
)
# Whole images, one by one: their sizes may differ.
test_loader = dict(
    loader, batch_size=1, sampler=dict(type='DefaultSampler', shuffle=False)
)
val_dataloader = dict(
    test_loader,
    dataset=dict(
        test_dataset,
        data_prefix=dict(
            img_path='images/val', seg_map_path='annotations/val'
        ),
    ),
)
test_dataloader = dict(
    test_loader,
    dataset=dict(
        test_dataset,
        data_prefix=dict(
            img_path='images/test', seg_map_path='annotations/test'
        ),
    ),
)
# Of two classes the second is scored, of more the mean over all.
val_evaluator = [
    dict(type='GEDMetric', num_samples=(16,)),
    dict(type='HMIoUMetric', num_samples=(16,)),
    dict(type='CalibrationMetric'),
]
test_evaluator = val_evaluator
