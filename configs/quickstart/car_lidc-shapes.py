# Minutes on a CPU: LIDC readers' outlines on simulated CT, 32 mm at 64x64.
_base_ = [
    '../_base_/models/car_recipe_small.py',
    '../_base_/datasets/lidc_shapes.py',
    '../_base_/schedules/recipe.py',
    '../_base_/default_runtime.py',
]
model = dict(train_cfg=dict(soft_labels=True, num_samples=8))
crop = dict(type='LesionCenteredCrop', crop_size=64)
train_pipeline = [*_base_.load, crop, _base_.mirror, _base_.pack]
test_pipeline = [*_base_.load_all, crop, _base_.pack]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = dict(dataset=dict(pipeline=test_pipeline, indices=200))
param_scheduler = dict(calibration=dict(end=1000))
train_cfg = dict(
    phases=[
        dict(iters=1000, train=['calibration']),
        dict(iters=300, train=['generator', 'discriminator']),
    ],
    val_interval=_base_.never,
)
default_hooks = dict(checkpoint=dict(interval=500))
