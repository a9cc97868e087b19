# BU-BIL cells with the paper's recipe for G and D, on the F that
# calibration.py trained.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/models/bubil_f.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(
            symmetric=True,
            init_cfg={{_base_.f_weights}},
        )
    ),
    train_cfg=dict(num_samples=8),
)
optim_wrapper = dict(calibration=None)
train_cfg = dict(
    phases=[
        dict(
            iters=400,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ],
    val_begin=100000,
)
