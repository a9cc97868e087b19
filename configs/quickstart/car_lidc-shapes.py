# Minutes on a CPU: LIDC annotators' outlines on simulated CT, 32 mm at 64x64.
# F learns by cross entropy; then a copy of it learns from whole samples.
_base_ = [
    '../_base_/models/car_tuned_small.py',
    '../_base_/datasets/lidc_shapes.py',
    '../_base_/schedules/car_tuned.py',
    '../_base_/default_runtime.py',
]
views = dict(symmetric=True)
model = dict(
    decode_head=dict(
        calibration=views,
        generator=dict(net=views, net_temperature=0.8, floor=0.05),
    ),
    train_cfg=dict(soft_labels=True),
)
crop = dict(type='LesionCenteredCrop', crop_size=64)
mirror = dict(_base_.mirror, direction=['horizontal', 'vertical'])
train_pipeline = [*_base_.load, crop, mirror, _base_.pack]
test_pipeline = [*_base_.load_all, crop, _base_.pack]
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = dict(dataset=dict(pipeline=test_pipeline, indices=200))
adam = dict(optimizer=dict(fused=True))  # a twentieth of a step is saved
optim_wrapper = dict(calibration=adam, generator=adam)
param_scheduler = dict(calibration=dict(end='phase'))
train_cfg = dict(
    phases=[
        dict(iters=800, train=['calibration']),
        dict(_base_.tuning, iters=250),
    ],
    val_begin=_base_.never,
)
default_hooks = dict(checkpoint=dict(interval=500))
