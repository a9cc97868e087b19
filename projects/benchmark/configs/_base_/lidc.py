# Real CT: the central 64x64 pixels, where 99.7 % of all marks are; every
# fourth slice is tested.
_base_ = ['../../../../configs/_base_/datasets/lidc_slices.py', './square.py']
crop = dict(type='CenterCropAll', crop_size=64)
train_pipeline = [*_base_.load, crop, *_base_.square, _base_.pack]
test_pipeline = [*_base_.load_all, crop, _base_.pack]
train_dataloader = dict(batch_size=16, dataset=dict(pipeline=train_pipeline))
val_dataloader = None
test_dataloader = dict(
    dataset=dict(pipeline=test_pipeline, indices=list(range(0, 2697, 4)))
)
