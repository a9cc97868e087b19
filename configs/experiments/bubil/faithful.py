# BU-BIL cells with the paper's recipe.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(train_cfg=dict(num_samples=8))
train_dataloader = dict(batch_size=8)
optim_wrapper = dict(calibration=dict(optimizer=dict(lr=1e-3)))
train_cfg = dict(
    phases=[
        dict(iters=800, train=['calibration']),
        dict(
            iters=400,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ],
    val_interval=100000,
)
