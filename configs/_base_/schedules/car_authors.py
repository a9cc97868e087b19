# The paper's schedule with what the authors' published code has instead: later
# and more steps of the learning rates, R1 on D's probability, and a D that
# rests while it is right too often.
_base_ = './car_two_stage.py'
epoch = 277  # iterations: 8882 images in batches of 32, the rest dropped
param_scheduler = dict(
    _delete_=True,
    calibration=dict(_base_.halved_lr, milestones=[250 * epoch, 500 * epoch]),
    generator=dict(
        _base_.halved_lr, milestones=[100 * epoch, 300 * epoch, 500 * epoch]
    ),
    discriminator=dict(
        _base_.halved_lr, milestones=[30 * epoch, 300 * epoch, 500 * epoch]
    ),
)
train_cfg = dict(max_discriminator_accuracy=0.85)
custom_hooks = [dict(type='R1Hook', weight=10.0, output='probability')]
