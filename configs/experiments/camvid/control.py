# Ground-truth control: G on the true probabilities of the flips.
_base_ = './faithful.py'
model = dict(
    decode_head=dict(
        black_box=None,
        calibration=dict(_delete_=True, type='KnownDistribution'),
    )
)
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[
        dict(
            iters=400,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        )
    ]
)
