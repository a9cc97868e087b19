# BU-BIL cells: 7 to 10 annotators per image, 128x128 grey crops.
_base_ = './lidc_shapes.py'
cells = dict(
    type='MultiAnnotatorDataset',
    data_root='data/bubil',
    metainfo=dict(
        classes=('background', 'cell'), palette=[[0, 0, 0], [80, 200, 120]]
    ),
)
flips = dict(
    type='RandomFlip', prob=[0.25, 0.25], direction=['horizontal', 'vertical']
)
train_pipeline = [*_base_.load, flips, _base_.pack]
train_dataloader = dict(dataset=dict(cells, pipeline=train_pipeline))
val_dataloader = dict(dataset=cells)
# There is no third split: the validation images are the test images.
test_dataloader = dict(dataset=dict(cells, data_prefix=_base_.val_files))
