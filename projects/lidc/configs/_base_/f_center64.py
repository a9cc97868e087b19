# F for a CPU: a U-Net of 1.8 M parameters that sees the central 64x64 pixels
# and learns the mean of all readers; maps and scores are 128x128.
_base_ = [
    '../../../../configs/_base_/models/gumbel_small.py',
    '../../../../configs/_base_/datasets/lidc_slices.py',
    '../../../../configs/_base_/schedules/calibration_only.py',
    '../../../../configs/_base_/default_runtime.py',
    './augment.py',
    './flood.py',
]
custom_imports = dict(imports=['mmcar', 'projects.processor_time'])
center = dict(type='CenterCalibration', crop_size=64, symmetric=True)
model = dict(
    decode_head=dict(calibration=center, generator=dict(floor=0.02)),
    train_cfg=dict(soft_labels=True),
)
train_pipeline = [*_base_.load, *_base_.augment, _base_.pack]
in_process = dict(num_workers=0, persistent_workers=False)  # counted
train_dataloader = dict(
    in_process, batch_size=16, dataset=dict(pipeline=train_pipeline)
)
val_dataloader = in_process
test_dataloader = in_process
test_evaluator = [*_base_.test_evaluator, _base_.flood]
adam_w = dict(type='AdamW', lr=1e-3, weight_decay=0.02, fused=True)
optim_wrapper = dict(calibration=dict(optimizer=dict(adam_w, _delete_=True)))
param_scheduler = dict(calibration=dict(end='phase'))
train_cfg = dict(val_interval=1500)
default_hooks = dict(checkpoint=dict(interval=500, max_keep_ckpts=4))
custom_hooks = [
    dict(type='NetworkEMAHook', network='calibration', momentum=0.005),
    dict(type='ProcessorTimeHook'),
]
