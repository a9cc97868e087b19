# Cityscapes24 with the predictions of a black box, which sees the images as
# they lie on disk; training and scores read them at 256x512.
_base_ = './cityscapes24.py'
cached = dict(
    type='LoadBlackBoxProbs',
    root='data/cityscapes/black_box',
    form='probs',
    scale=_base_.size,
)
train_pipeline = [*_base_.read_train, cached, *_base_.augment]
val_pipeline = [*_base_.read_val, cached, _base_.pack]
# New images, and tools/test.py --live: samples at the size of the image.
test_pipeline = [
    _base_.load_image,
    dict(type='KeepImageForBlackBox'),
    # As the converter shrinks them.
    dict(type='Resize', scale=_base_.size, interpolation='area'),
    dict(type='LoadMultiAnnotations', draw=False),
    _base_.pack,
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=val_pipeline))
test_dataloader = val_dataloader
