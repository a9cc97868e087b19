# What mmcar adds to the paper's networks and losses, G starts as the
# training-free shared-Gumbel sampler and learns what that cannot express.
_base_ = './car.py'
model = dict(
    decode_head=dict(
        generator=dict(
            norm_cfg=None,
            dropout=0.0,
            film='residual',
            upsample='resize',
            gumbel=dict(correlation_length=None),
            temperature=0.05,
        ),
    ),
    noise=dict(type='SobolNoise'),
    loss_adv=dict(loss_weight=1.0),
    loss_samples=[
        dict(type='CalibrationLoss', loss_weight=5.0),
        dict(type='EnergyLoss', loss_weight=10.0, smooth=0.1),
    ],
    train_cfg=dict(num_samples=8),
)
