# CamVid flips on the black box: mmcar's recipe on the F of calibration.py.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/models/camvid_black_box.py',
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=16,
        black_box={{_base_.black_box}},
        calibration={{_base_.trained_f}},
    ),
    loss_cal=[
        dict(type='CalibrationLoss', loss_weight=5.0),
        dict(type='EnergyLoss', loss_weight=10.0),
    ],
)
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=400, train=['generator', 'discriminator'])],
    val_begin=100000,
)
