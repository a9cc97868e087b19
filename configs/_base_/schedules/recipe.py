# D learns at every iteration, fast enough to be heard, with R1 at every eighth
# (as heavy in all); G is averaged; F's learning rate falls to zero.
_base_ = './car_two_stage.py'
optim_wrapper = dict(
    calibration=dict(optimizer=dict(lr=1e-3, betas=(0.9, 0.999))),
    discriminator=dict(optimizer=dict(lr=1e-4)),
)
param_scheduler = dict(
    _delete_=True,
    calibration=dict(type='CosineAnnealingLR', by_epoch=False, end=80000),
)
train_cfg = dict(
    phases=[
        _base_.stage_1,
        dict(iters=80000, train=['generator', 'discriminator']),
    ]
)
custom_hooks = [
    dict(type='R1Hook', weight=10.0, interval=8),
    dict(type='NetworkEMAHook', network='generator', momentum=0.005),
]
