# CamVid flips on the black box: mmcar's recipe on the F of calibration.py.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=16,
        black_box=dict(
            type='BlackBox',
            config='configs/experiments/camvid/black_box.py',
            checkpoint='work_dirs/experiments/camvid/black_box/iter_1500.pth',
        ),
        calibration=dict(
            _delete_=True,
            type='ConvCalibration',
            channels=32,
            init_cfg=dict(
                type='Pretrained',
                checkpoint='work_dirs/experiments/camvid/calibration/seed0/'
                'iter_1500.pth',
                prefix='decode_head.calibration.',
            ),
        ),
    ),
    loss_cal=[
        dict(type='CalibrationLoss', loss_weight=5.0),
        dict(type='EnergyLoss', loss_weight=10.0),
    ],
)
train_dataloader = dict(batch_size=4)
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=400, train=['generator', 'discriminator'])],
    val_begin=100000,
)
