# F for a CPU: a U-Net of 1.8 M parameters on the central 64x64 pixels, scored
# at 128x128. Settings are chosen on training patients: digit 6 is held out.
_base_ = [
    '../../../configs/_base_/models/gumbel_small.py',
    '../../../configs/_base_/datasets/lidc_slices.py',
    '../../../configs/_base_/schedules/calibration_only.py',
    '../../../configs/_base_/default_runtime.py',
    './_base_/square.py',
]
custom_imports = dict(imports=['mmcar', 'lidc.center'])
iters = 6000
model = dict(
    decode_head=dict(
        calibration=dict(
            type='CenterCalibration', crop_size=64, symmetric=True
        ),
        generator=dict(floor=0.02),
    ),
    train_cfg=dict(soft_labels=True),
)
train_pipeline = [*_base_.load, *_base_.augment, _base_.pack]
train_dataloader = dict(
    batch_size=16,
    num_workers=0,
    persistent_workers=False,
    dataset=dict(
        ann_file='choose_train.txt', pipeline=train_pipeline
    ),
)
held_out = dict(
    num_workers=0,
    persistent_workers=False,
    dataset=dict(
        ann_file='choose_val.txt',
        data_prefix=_base_.train_files,
    ),
)
val_dataloader = dict(held_out, dataset=dict(held_out['dataset'], indices=list(range(0, 889, 2))))
test_dataloader = held_out
optim_wrapper = dict(
    calibration=dict(
        optimizer=dict(
            _delete_=True, type='AdamW', lr=1e-3, weight_decay=0.02, fused=True
        )
    )
)
param_scheduler = dict(calibration=dict(end=iters))
train_cfg = dict(
    phases=[dict(iters=iters, train=['calibration'])],
    val_interval=1500,
)
default_hooks = dict(checkpoint=dict(interval=500, max_keep_ckpts=4))
custom_hooks = [
    dict(type='NetworkEMAHook', network='calibration', momentum=0.005),
    dict(type='ProcessorTimeHook'),
]
