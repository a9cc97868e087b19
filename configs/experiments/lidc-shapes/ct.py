# LIDC shapes from the simulated CT: paper's recipe for G and D, on the F that
# ct_recipe.py trained.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/models/lidc_shapes_ct_f.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(calibration=dict(init_cfg={{_base_.f_weights}})),
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
