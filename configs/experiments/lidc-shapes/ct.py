# LIDC shapes from the simulated CT: F, then G and D, paper's recipe for
# G and D; F is trained as in ct_recipe.py.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(train_cfg=dict(num_samples=8, soft_labels=True))
train_dataloader = dict(batch_size=16)
optim_wrapper = dict(
    calibration=dict(optimizer=dict(lr=1e-3, betas=(0.9, 0.999)))
)
param_scheduler = dict(
    _delete_=True,
    calibration=dict(type='CosineAnnealingLR', by_epoch=False, end=1000),
)
train_cfg = dict(
    phases=[
        dict(iters=1000, train=['calibration']),
        dict(
            iters=500,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ],
    val_begin=100000,
)
