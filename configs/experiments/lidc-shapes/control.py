# Ground-truth control on LIDC shapes: G on the readers' mean, paper's recipe.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='KnownDistribution'))
)
optim_wrapper = dict(calibration=None)
train_cfg = dict(
    phases=[
        dict(
            iters=400,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        )
    ],
    val_begin=100000,
)
