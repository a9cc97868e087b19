# A copy of F learns from whole samples: energy distance and matched IoU.
_base_ = [
    '../../../configs/_base_/models/car_tuned_small.py',
    '../../../configs/_base_/datasets/lidc_slices.py',
    '../../../configs/_base_/schedules/tuned.py',
    '../../../configs/_base_/default_runtime.py',
    './_base_/augment.py',
    './_base_/flood.py',
]
custom_imports = dict(imports=['mmcar', 'projects.processor_time'])
center = dict(
    type='CenterCalibration',
    crop_size=64,
    symmetric=True,
    init_cfg=dict(
        type='Pretrained',
        prefix='decode_head.calibration.',
        checkpoint='F of seed 0; row.py names it',
    ),
)
generator = dict(net=center, net_temperature=0.8, floor=0.02)
model = dict(
    decode_head=dict(calibration=center, generator=generator),
    noise=dict(type='NormalNoise'),
)
train_pipeline = [*_base_.load, *_base_.augment, _base_.pack]
in_process = dict(num_workers=0, persistent_workers=False)  # counted
train_dataloader = dict(
    in_process, batch_size=16, dataset=dict(pipeline=train_pipeline)
)
val_dataloader = in_process
test_dataloader = in_process
test_evaluator = [*_base_.test_evaluator, _base_.flood]
optim_wrapper = dict(generator=dict(optimizer=dict(lr=1e-4, fused=True)))
param_scheduler = dict(generator=dict(end=1000))
train_cfg = dict(
    phases=[dict(iters=1000, train=['generator'])], val_begin=_base_.never
)
custom_hooks = [dict(type='ProcessorTimeHook')]
