# The authors' published code for G and D, thin enough for a CPU, on the true
# probabilities.
_base_ = [
    '../../../../configs/_base_/models/car_authors.py',
    '../../../../configs/_base_/schedules/car_authors.py',
    '../../../../configs/_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(_delete_=True, type='KnownDistribution'),
        generator=dict(base_channels=16),
    ),
    discriminator=dict(base_channels=16),
)
optim_wrapper = dict(calibration=None)
param_scheduler = dict(
    _delete_=True,
    generator=_base_.param_scheduler.generator,
    discriminator=_base_.param_scheduler.discriminator,
)
