# LIDC shapes at 32x32: 32 mm around the lesion.
_base_ = '../../../../configs/_base_/datasets/lidc_shapes.py'
crop = dict(type='LesionCenteredCrop', crop_size=64)
resize = dict(type='ResizeOriginal', scale=(32, 32))
train_pipeline = [*_base_.load, crop, resize, _base_.mirror, _base_.pack]
test_pipeline = [*_base_.load_all, crop, resize, _base_.pack]
train_dataloader = dict(batch_size=16, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
# Every fourth test slice, for speed: 100 samples of each are scored.
test_dataloader = dict(
    dataset=dict(pipeline=test_pipeline, indices=list(range(0, 2380, 4)))
)
