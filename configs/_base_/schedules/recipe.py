# D learns at every iteration, fast enough to be heard; G is averaged.
_base_ = './car_two_stage.py'
optim_wrapper = dict(discriminator=dict(optimizer=dict(lr=1e-4)))
custom_hooks = [
    dict(type='R1Hook', weight=10.0),
    dict(type='NetworkEMAHook', network='generator', momentum=0.005),
]
